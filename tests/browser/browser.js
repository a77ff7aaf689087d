// SPDX-License-Identifier: Apache-2.0
// What the checks in this folder share: a Chromium of the system's own, driven by playwright-core (NODE_PATH).
'use strict';
const assert = require('node:assert');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

const ARGUMENTS = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync',
];

function chromiumPath() {
  const paths = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
  const found = paths.find((candidate) => candidate && fs.existsSync(candidate));
  if (!found) throw new Error('no chromium here: install the package chromium, or set CHROMIUM');
  return found;
}

// Run check(context) in a browser with a profile of its own, which is gone afterwards.
async function withBrowser(options, check) {
  const { chromium } = require('playwright-core');
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tare-browser-'));
  const context = await chromium.launchPersistentContext(folder, {
    executablePath: chromiumPath(), args: ARGUMENTS.concat(options.args || []), headless: true,
    viewport: { width: 1400, height: 900 }, colorScheme: options.colorScheme || 'light',
  });
  try {
    await check(context);
  } finally {
    await context.close();
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

// A page that keeps what went wrong on it and what it asked for.
async function newPage(context) {
  const page = await context.newPage();
  page.troubles = [];
  page.requests = [];
  page.on('pageerror', (error) => page.troubles.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error') page.troubles.push(message.text());
  });
  page.on('request', (request) => page.requests.push(request.url()));
  page.on('dialog', (dialog) => {
    page.troubles.push(dialog.message());
    dialog.dismiss();
  });
  return page;
}

let passed = 0;
function check(value, message) {
  assert.ok(value, message);
  passed++;
}
function checkEqual(got, want, message) {
  assert.deepStrictEqual(got, want, message);
  passed++;
}

function main(run) {
  run(...process.argv.slice(2)).then(
    () => console.log(passed + ' passed, 0 failed'),
    (error) => {
      console.error(error);
      process.exit(1);
    });
}

module.exports = { check, checkEqual, main, newPage, withBrowser };
