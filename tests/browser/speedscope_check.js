// SPDX-License-Identifier: Apache-2.0
// Opens a file in the real speedscope, served on loopback, and reads its tables:
//     node speedscope_check.js FILE FOLDER '{"profile": "name (1/1)", "rows": {"function": "self"}}'
// Pictures of what it saw go to FOLDER.
'use strict';
const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const { check, checkEqual, main, newPage, withBrowser } = require('./browser.js');

const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.json': 'application/json' };

// The files of the package speedscope, and the profile.
function serve(file) {
  const root = path.join(path.dirname(require.resolve('speedscope/package.json')), 'dist', 'release');
  const server = http.createServer((request, response) => {
    const name = decodeURIComponent(request.url.split('?')[0]);
    const wanted = name === '/profile.json' ? file : path.join(root, name === '/' ? 'index.html' : path.normalize(name));
    fs.readFile(wanted, (error, data) => {
      response.writeHead(error ? 404 : 200, { 'content-type': TYPES[path.extname(wanted)] || 'application/octet-stream' });
      response.end(data);
    });
  });
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

main(async (file, shots, expectation) => {
  const expect = JSON.parse(expectation);
  const server = await serve(path.resolve(file));
  const address = 'http://127.0.0.1:' + server.address().port;
  try {
    // speedscope draws with WebGL; without a graphics card Chromium has to do that in software.
    await withBrowser({ args: ['--use-angle=swiftshader', '--enable-unsafe-swiftshader'] }, async (context) => {
      const page = await newPage(context);
      await page.goto(address + '/#profileURL=' + address + '/profile.json');
      await page.getByText(expect.profile).waitFor({ timeout: 30000 });
      const shot = (name) => page.screenshot({ path: path.join(shots, 'speedscope-' + name + '.png') });
      await shot('time-order');
      await page.keyboard.press('2');
      await page.waitForTimeout(1000);
      await shot('left-heavy');
      await page.keyboard.press('3');
      await page.waitForTimeout(1000);
      await shot('sandwich');
      const rows = await page.evaluate(() => [...document.querySelectorAll('tr')].map((row) =>
        [...row.querySelectorAll('td')].map((cell) => cell.innerText.trim())));
      const table = {};
      for (const [total, self, name] of rows) if (name) table[name] = { total, self };
      for (const [name, want] of Object.entries(expect.rows)) {
        check(table[name], name + ' is in the table: ' + JSON.stringify(table));
        checkEqual(table[name], want, name);
      }
      checkEqual(page.troubles, [], 'nothing went wrong');
    });
  } finally {
    server.close();
  }
});
