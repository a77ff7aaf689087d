// SPDX-License-Identifier: Apache-2.0
// The interactive part of a flame graph: zoom, search, tooltips, keyboard. Without it (in an <img>, or where
// scripts are off) the picture is complete, with the browser's own tooltips. Each frame is a <g data-f="start,total,
// depth">, in the order of a walk down the tree, so that a frame's parent is the last one before it that is one
// level up.
(function () {
  'use strict';
  const SVG = 'http://www.w3.org/2000/svg';
  const HTML = 'http://www.w3.org/1999/xhtml';
  const PAD = 10; // left and right of the frames
  const GAP = 0.6; // between neighbours
  const INSET = 4; // of a label in its frame
  const TOO_NARROW = 0.1;
  const ANIMATE_AT_MOST = 3000; // frames
  const ANIMATION_MS = 180;

  const svg = document.currentScript.closest('svg');
  const standalone = document.documentElement === svg;
  const height = svg.viewBox.baseVal.height;
  let width = svg.viewBox.baseVal.width;

  const frames = [];
  const path = [];
  for (const group of svg.querySelectorAll('.frames > g')) {
    const [start, total, depth] = group.dataset.f.split(',').map(Number);
    const title = group.querySelector('title');
    const frame = {
      group, start, total, depth,
      end: start + total,
      lines: title.textContent.split('\n'),
      rect: group.querySelector('rect'),
      text: group.querySelector('text'),
      parent: depth ? path[depth - 1] : null,
      children: [],
      hit: false,
      shown: true,
      label: null,
    };
    title.remove(); // ours is shown instead
    frame.name = frame.lines[0];
    frame.plain = /^[ -~]*$/.test(frame.name);
    if (frame.parent) frame.parent.children.push(frame);
    path[depth] = frame;
    group.frame = frame;
    frames.push(frame);
  }
  if (!frames.length) return;
  const root = frames[0];
  const reduced = matchMedia('(prefers-reduced-motion: reduce)');

  function make(space, name, className, parent) {
    const element = document.createElementNS(space, name);
    if (className) element.setAttribute('class', className);
    parent.appendChild(element);
    return element;
  }

  // Labels. The font has a fixed width, but characters from another font do not keep to it: those are measured.
  const ruler = make(SVG, 'text', '', svg);
  ruler.setAttribute('visibility', 'hidden');
  ruler.setAttribute('aria-hidden', 'true');
  function measure(text) {
    ruler.textContent = text;
    return ruler.getComputedTextLength();
  }
  const columnWidth = measure('0'.repeat(100)) / 100 || 7.3;

  function fitted(frame, room) {
    const columns = Math.floor(room / columnWidth);
    if (columns < 2) return '';
    if (frame.plain) {
      if (frame.name.length <= columns) return frame.name;
      return columns < 3 ? '' : frame.name.slice(0, columns - 1) + '\u2026';
    }
    if (measure(frame.name) <= room) return frame.name;
    const characters = Array.from(frame.name);
    let fits = 0;
    let tooMany = Math.min(characters.length, columns + 1);
    while (fits + 1 < tooMany) {
      const middle = (fits + tooMany) >> 1;
      if (measure(characters.slice(0, middle).join('') + '\u2026') <= room) fits = middle;
      else tooMany = middle;
    }
    return fits ? characters.slice(0, fits).join('') + '\u2026' : '';
  }

  // The part of the whole that fills the width.
  let view = { start: root.start, end: root.end };
  let zoomed = root;

  function place(frame, scale) {
    const left = Math.max(PAD, PAD + (frame.start - view.start) * scale);
    const right = Math.min(width - PAD, PAD + (frame.end - view.start) * scale);
    const room = right - left;
    const shown = room > TOO_NARROW;
    if (shown !== frame.shown) {
      frame.group.style.display = shown ? '' : 'none';
      frame.shown = shown;
    }
    if (!shown) return;
    frame.left = left;
    frame.right = right;
    frame.rect.setAttribute('x', left.toFixed(2));
    frame.rect.setAttribute('width', Math.max(room - GAP, room / 2).toFixed(2));
    const label = fitted(frame, room - GAP - 2 * INSET);
    if (!frame.text) {
      if (!label) return;
      frame.text = make(SVG, 'text', '', frame.group);
      frame.text.setAttribute('y', Number(frame.rect.getAttribute('y')) + 13);
    }
    if (label !== frame.label) frame.text.textContent = frame.label = label;
    frame.text.setAttribute('x', (left + INSET).toFixed(2));
  }

  function layout() {
    const scale = (width - 2 * PAD) / (view.end - view.start || 1);
    for (const frame of frames) place(frame, scale);
  }

  let animation = 0;
  function show(start, end) {
    cancelAnimationFrame(animation);
    const from = view;
    if (reduced.matches || frames.length > ANIMATE_AT_MOST) {
      view = { start, end };
      layout();
      return;
    }
    const began = performance.now();
    function step(now) {
      const t = Math.min(1, Math.max(0, (now - began) / ANIMATION_MS));
      const eased = 1 - (1 - t) ** 3;
      view = t < 1
        ? { start: from.start + (start - from.start) * eased, end: from.end + (end - from.end) * eased }
        : { start, end };
      layout();
      if (t < 1) animation = requestAnimationFrame(step);
    }
    step(began);
  }

  function zoom(frame) {
    for (let above = zoomed.parent; above; above = above.parent) above.group.classList.remove('above');
    zoomed = frame;
    for (let above = zoomed.parent; above; above = above.parent) above.group.classList.add('above');
    reset.hidden = zoomed === root;
    hideTip();
    show(frame.start, frame.end);
  }

  // The tools: search and reset.
  const toolsBox = make(SVG, 'foreignObject', '', svg);
  const tools = make(HTML, 'div', 'tools', toolsBox);
  const share = make(HTML, 'span', 'share', tools);
  share.setAttribute('aria-live', 'polite');
  const reset = make(HTML, 'button', 'reset', tools);
  reset.type = 'button';
  reset.textContent = 'Reset zoom';
  reset.hidden = true;
  const input = make(HTML, 'input', '', tools);
  input.type = 'search';
  input.placeholder = 'Search (Ctrl+F)';
  input.setAttribute('aria-label', 'Search for functions, by text or regular expression');
  input.title = 'Text or regular expression, in names and files; upper and lower case are the same';

  function matcher(text) {
    try {
      const pattern = new RegExp(text, 'i');
      return (name) => pattern.test(name);
    } catch (e) {
      const lower = text.toLowerCase();
      return (name) => name.toLowerCase().includes(lower);
    }
  }

  // What matches, as a share of the whole. A match inside a match is in it already and is not counted again.
  function search(text) {
    const matches = text ? matcher(text) : () => false;
    let hits = 0;
    let matched = 0;
    let covered = -1; // end of the last match that was counted
    for (const frame of frames) {
      frame.hit = frame !== root && (matches(frame.name) || matches(frame.lines[1]));
      frame.group.classList.toggle('hit', frame.hit);
      if (!frame.hit) continue;
      hits++;
      if (frame.start >= covered) {
        matched += frame.total;
        covered = frame.end;
      }
    }
    svg.classList.toggle('searching', Boolean(text));
    share.classList.toggle('wrong', Boolean(text) && !hits);
    share.textContent = !text ? '' : !hits ? 'no match'
      : (100 * matched / root.total).toFixed(1) + ' % of total in ' + hits + (hits === 1 ? ' frame' : ' frames');
  }

  // The tooltip.
  const tipBox = make(SVG, 'foreignObject', '', svg);
  tipBox.setAttribute('pointer-events', 'none');
  tipBox.setAttribute('width', 1);
  tipBox.setAttribute('height', 1);
  const tip = make(HTML, 'div', 'tip', tipBox);
  function hideTip() {
    tipBox.style.display = 'none';
  }
  function showTip(frame, x, y) {
    tip.textContent = '';
    frame.lines.forEach((line, i) => {
      if (line) make(HTML, i === 0 ? 'b' : i === 1 ? 'i' : 'span', '', tip).textContent = line + (i > 1 ? '\n' : '');
    });
    tipBox.style.display = '';
    tip.style.width = 'max-content';
    const box = tip.getBoundingClientRect();
    const below = y + 18 + box.height <= height;
    tipBox.setAttribute('x', Math.max(4, Math.min(x + 12, width - box.width - 4)));
    tipBox.setAttribute('y', below ? y + 18 : Math.max(4, y - box.height - 10));
  }
  hideTip();

  function frameOf(target) {
    const group = target instanceof Element && target.closest('g[data-f]');
    return group ? group.frame : null;
  }
  function position(event) {
    const box = svg.getBoundingClientRect();
    return [(event.clientX - box.left) * width / box.width, (event.clientY - box.top) * height / box.height];
  }

  // The keyboard moves a cursor over the frames.
  let cursor = null;
  function point(frame) {
    if (cursor) cursor.group.classList.remove('at');
    cursor = frame;
    if (!frame) return hideTip();
    frame.group.classList.add('at');
    frame.rect.scrollIntoView({ block: 'nearest' });
    showTip(frame, frame.left, Number(frame.rect.getAttribute('y')) + 4);
    svg.setAttribute('aria-label', frame.lines.join(', '));
  }
  function neighbour(frame, step) {
    const row = frame.parent ? frame.parent.children.filter((other) => other.shown) : [frame];
    return row[row.indexOf(frame) + step] || frame;
  }
  const moves = {
    ArrowUp: (frame) => frame.parent || frame,
    ArrowDown: (frame) => frame.children.find((child) => child.shown) || frame,
    ArrowLeft: (frame) => neighbour(frame, -1),
    ArrowRight: (frame) => neighbour(frame, 1),
  };

  function onKey(event) {
    const typing = event.target === input;
    if ((event.ctrlKey || event.metaKey) && event.key === 'f' && !typing) {
      input.focus();
      input.select();
    } else if (event.key === 'Escape') {
      if (input.value) {
        input.value = '';
        search('');
      } else if (zoomed !== root) {
        zoom(root);
      }
      point(null);
      input.blur();
    } else if (typing || event.ctrlKey || event.metaKey || event.altKey || event.target === reset) {
      return;
    } else if (event.key === '/') {
      input.focus();
    } else if (moves[event.key]) {
      point(cursor ? moves[event.key](cursor) : zoomed);
    } else if (event.key === 'Enter' && cursor) {
      const frame = cursor;
      zoom(frame);
      cursor = frame;
    } else if (event.key === 'Home' || event.key === '0') {
      zoom(root);
    } else {
      return;
    }
    event.preventDefault();
  }

  svg.addEventListener('click', (event) => {
    const frame = frameOf(event.target);
    if (!frame) return;
    point(null);
    zoom(frame);
  });
  svg.addEventListener('mousemove', (event) => {
    const frame = frameOf(event.target);
    if (frame) showTip(frame, ...position(event));
    else if (!cursor) hideTip();
  });
  svg.addEventListener('mouseleave', hideTip);
  input.addEventListener('input', () => search(input.value));
  reset.addEventListener('click', () => zoom(root));
  (standalone ? window : svg).addEventListener('keydown', onKey);

  function resize() {
    const room = standalone ? document.documentElement.clientWidth || innerWidth : svg.parentNode.clientWidth;
    width = Math.max(480, room || width);
    svg.setAttribute('viewBox', '0 0 ' + width + ' ' + height);
    svg.setAttribute('width', width);
    const box = Math.min(620, width / 2);
    toolsBox.setAttribute('x', width - PAD - box);
    toolsBox.setAttribute('y', 12);
    toolsBox.setAttribute('width', box);
    toolsBox.setAttribute('height', 30);
    layout();
  }
  svg.classList.add('live');
  svg.setAttribute('tabindex', '0');
  addEventListener('resize', resize);
  resize();
})();
