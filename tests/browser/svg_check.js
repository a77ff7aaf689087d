// SPDX-License-Identifier: Apache-2.0
// Opens a flame graph from its file, in light and in dark, and uses it:
//     node svg_check.js FILE.svg FOLDER '{"frames": …, "zoom": …, "tip": […], "search": …, "share": …}'
// Pictures of what it saw go to FOLDER.
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const { check, checkEqual, main, newPage, withBrowser } = require('./browser.js');

const PAD = 10;

// Where each visible frame is, by name; of several with one name the widest.
function frames(page) {
  return page.evaluate(() => {
    const found = {};
    for (const group of document.querySelectorAll('.frames > g')) {
      if (group.style.display === 'none') continue;
      const box = group.querySelector('rect').getBBox();
      const name = group.frame.name;
      if (!found[name] || found[name].width < box.width) found[name] = { x: box.x, width: box.width, y: box.y };
    }
    return found;
  });
}

// How far the widest label sticks out of its frame, in px.
function overflow(page) {
  return page.evaluate(() => {
    let worst = -Infinity;
    for (const group of document.querySelectorAll('.frames > g')) {
      const text = group.querySelector('text');
      if (group.style.display === 'none' || !text || !text.textContent) continue;
      const box = group.querySelector('rect').getBBox();
      const end = Number(text.getAttribute('x')) + text.getComputedTextLength();
      worst = Math.max(worst, end - (box.x + box.width));
    }
    return worst;
  });
}

async function settled(page) {
  await page.waitForTimeout(400); // longer than the animation
}

async function pointAt(page, name) {
  const place = (await frames(page))[name];
  check(place, name + ' is in the picture');
  await page.evaluate((y) => scrollTo(0, Math.max(0, y - 300)), place.y);
  const scrolled = await page.evaluate(() => scrollY);
  return { x: place.x + Math.min(place.width / 2, 40), y: place.y + 9 - scrolled };
}

// How many frames have a text in their name or place.
function framesWith(page, text) {
  return page.evaluate((wanted) => [...document.querySelectorAll('.frames > g')]
    .filter((group) => group.frame.lines.slice(0, 2).some((line) => line.includes(wanted))).length, text);
}

async function useIt(page, expect, shots, scheme) {
  const width = await page.evaluate(() => document.documentElement.clientWidth);
  const shot = (name) => page.screenshot({ path: path.join(shots, 'svg-' + scheme + '-' + name + '.png') });
  checkEqual(await page.locator('.frames > g').count(), expect.frames, 'frames');
  checkEqual(await page.title(), expect.title);
  await shot('whole');

  const before = await frames(page);
  const target = await pointAt(page, expect.zoom);
  await page.mouse.move(target.x, target.y);
  const tip = await page.locator('.tip').innerText();
  for (const part of [expect.zoom, ...expect.tip]) check(tip.includes(part), 'the tooltip says ' + part + ': ' + tip);
  await shot('tooltip');
  check(!(await page.locator('.reset').isVisible()), 'no reset before a zoom');
  await page.mouse.click(target.x, target.y);
  await settled(page);
  const zoomed = await frames(page);
  check(Math.abs(zoomed[expect.zoom].x - PAD) < 0.1, 'the zoomed frame begins at the left');
  check(Math.abs(zoomed[expect.zoom].width - (width - 2 * PAD)) < 1, 'the zoomed frame fills the width');
  check(zoomed.all && zoomed.all.width > width - 2 * PAD - 1, 'what is above it stays');
  check(!zoomed[expect.beside], 'what is beside it is gone');
  check((await overflow(page)) <= 0, 'labels stay in their frames');
  await shot('zoomed');

  await page.keyboard.press('Control+f');
  await page.keyboard.type(expect.search);
  checkEqual(await page.locator('.share').innerText(), expect.share);
  check((await page.locator('.frames > g.hit').count()) > 0, 'matches are marked');
  await page.mouse.move(5, 5);
  await shot('search');
  await page.fill('.tools input', '(');
  checkEqual(await page.locator('.frames > g.hit').count(), await framesWith(page, '('),
    'what is no regular expression is searched for as text');
  await page.fill('.tools input', 'nothing is called this');
  checkEqual(await page.locator('.share').innerText(), 'no match');
  await page.keyboard.press('Escape');
  checkEqual(await page.locator('.share').innerText(), '');
  checkEqual(await page.locator('.frames > g.hit').count(), 0);

  await page.locator('.reset').click();
  await settled(page);
  checkEqual(await frames(page), before, 'reset shows the whole again');
  check(!(await page.locator('.reset').isVisible()), 'reset is gone after it');

  for (const key of ['ArrowDown', 'ArrowDown', 'ArrowDown', 'Enter']) await page.keyboard.press(key);
  await settled(page);
  check(await page.locator('.reset').isVisible(), 'the keyboard zooms too');
  await page.keyboard.press('Home');
  await settled(page);
  checkEqual(await frames(page), before, 'and resets');

  await page.setViewportSize({ width: 700, height: 600 });
  await settled(page);
  check((await frames(page)).all.width < 690, 'it fits a narrow window');
  check((await overflow(page)) <= 0, 'labels are cut for a narrow window');
}

// As an <img> nothing runs: what is written must be a whole picture by itself.
async function lookAtImage(context, file, shots, scheme) {
  const html = path.join(shots, 'image-' + scheme + '.html');
  fs.writeFileSync(html, '<!doctype html><body style="margin:0"><img src="' + pathToFileURL(file) + '">');
  const page = await newPage(context);
  await page.goto(pathToFileURL(html).href);
  checkEqual(await page.evaluate(() => document.images[0].naturalWidth), 1200);
  await page.screenshot({ path: path.join(shots, 'svg-' + scheme + '-image.png') });
  checkEqual(page.troubles, []);
}

main(async (file, shots, expectation) => {
  const expect = JSON.parse(expectation);
  const papers = [];
  for (const colorScheme of ['light', 'dark']) {
    await withBrowser({ colorScheme }, async (context) => {
      const page = await newPage(context);
      await page.goto(pathToFileURL(file).href);
      papers.push(await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor));
      await useIt(page, expect, shots, colorScheme);
      checkEqual(page.troubles, [], 'nothing went wrong');
      checkEqual(page.requests, [pathToFileURL(file).href], 'nothing else was loaded');
      await lookAtImage(context, file, shots, colorScheme);
    });
  }
  check(papers[0] !== papers[1], 'dark is not light');
});
