(function () {
  'use strict';
  var svg = document.getElementById('flame');
  var width = 1200, margin = 10, inner = width - 2 * margin, glyph = 6.6;
  var status = document.getElementById('status');
  var frames = Array.prototype.map.call(svg.querySelectorAll('g.f'), function (g) {
    return {
      g: g, rect: g.querySelector('rect'), text: g.querySelector('text'),
      x: +g.getAttribute('data-x'), w: +g.getAttribute('data-w'), depth: +g.getAttribute('data-d'),
      name: g.getAttribute('data-n')
    };
  });
  var focus = frames[0], pattern = null;

  function draw() {
    frames.forEach(function (f) {
      var above = f.depth < focus.depth && f.x <= focus.x && f.x + f.w >= focus.x + focus.w;
      var x = above ? 0 : (f.x - focus.x) / focus.w * inner;
      var w = above ? inner : f.w / focus.w * inner;
      var seen = above || (f.depth >= focus.depth && f.x >= focus.x && f.x + f.w <= focus.x + focus.w && w >= 0.3);
      f.g.style.display = seen ? '' : 'none';
      if (!seen) return;
      f.g.classList.toggle('above', above);
      f.rect.setAttribute('x', margin + x);
      f.rect.setAttribute('width', Math.max(0.3, w - 0.5));
      f.text.setAttribute('x', margin + x + 3);
      var room = Math.floor((w - 6) / glyph);
      f.text.textContent = room < 3 ? '' : f.name.length <= room ? f.name : f.name.slice(0, room - 1) + '…';
    });
  }

  function search(text) {
    pattern = null;
    if (text) {
      try { pattern = new RegExp(text, 'i'); } catch (e) { status.textContent = 'not a regular expression'; return; }
    }
    var hits = [];
    frames.forEach(function (f) {
      var hit = pattern !== null && pattern.test(f.name);
      f.g.classList.toggle('hit', hit);
      if (hit) hits.push(f);
    });
    if (!pattern) { status.textContent = ''; return; }
    hits.sort(function (a, b) { return a.x - b.x || a.depth - b.depth; });
    var end = 0, sum = 0;
    hits.forEach(function (f) {
      if (f.x >= end - 1e-12) { sum += f.w; end = f.x + f.w; }
    });
    status.textContent = hits.length + ' matched, ' + (100 * sum).toFixed(1) + ' %';
  }

  function zoom(f) { focus = f; draw(); }

  frames.forEach(function (f) {
    f.g.addEventListener('click', function () { zoom(f); });
    f.g.addEventListener('keydown', function (e) { if (e.key === 'Enter') zoom(f); });
  });
  function ask() { search(window.prompt('Search for a function (a regular expression)', pattern ? pattern.source : '') || ''); }
  var box = document.getElementById('search'), button = document.getElementById('ask');
  if (box) box.addEventListener('input', function () { search(box.value); });
  if (button) button.addEventListener('click', ask);
  document.getElementById('reset').addEventListener('click', function () { zoom(frames[0]); });
  document.addEventListener('keydown', function (e) {
    if (e.key === 'Escape') { zoom(frames[0]); }
    if (e.key === '/' && e.target !== box) { e.preventDefault(); if (box) box.focus(); else ask(); }
  });
  draw();
})();
