// The input image: a drawing, a patch that hides a part of it, and noise.

import { element } from "./dom.js";
import { inputColour, paint } from "./paint.js";

/** One uniform number per pixel, fixed while the share of flipped pixels changes. */
const draws = (count) => Float64Array.from({ length: count }, Math.random);

/** A canvas to draw on, and a patch to drag; both work with pointer and keyboard. */
export class Easel {
  constructor([height, width], onChange) {
    Object.assign(this, { height, width, onChange, pen: 1, noise: 0 });
    this.drawing = new Uint8Array(height * width);
    this.flips = draws(height * width);
    const size = Math.round(Math.min(height, width) / 3.5);
    this.patch = { row: Math.round((height - size) / 2), column: Math.round((width - size) / 2), size };
    this.cursor = { row: Math.floor(height / 2), column: Math.floor(width / 2) };
    this.root = this.#build();
    this.#listen();
  }

  #build() {
    this.canvas = element("canvas", {
      width: this.width, height: this.height, tabIndex: 0, role: "application", className: "picture",
      "aria-label": "Drawing. Arrow keys move the pen, space draws or erases a pixel.",
    });
    this.marker = element("div", { className: "marker" });
    this.handle = element("button", { type: "button", className: "patch" });
    return element("div", { className: "easel" }, this.canvas, this.marker, this.handle);
  }

  /** Whether the patch hides a pixel. */
  hides(place) {
    const { row, column, size } = this.patch;
    const [r, c] = [Math.floor(place / this.width), place % this.width];
    return r >= row && r < row + size && c >= column && c < column + size;
  }

  /** The models' input: the drawing with the patch hidden, then with noise. */
  seen() {
    return Array.from(this.drawing, (pixel, place) => {
      const visible = this.hides(place) ? 0 : pixel;
      return this.flips[place] < this.noise ? 1 - visible : visible;
    });
  }

  /** Replace the drawing by an image. */
  load(pixels) {
    this.drawing = Uint8Array.from(pixels, (value) => (value > 0.5 ? 1 : 0));
    this.refresh();
  }

  clear() {
    this.load(new Uint8Array(this.width * this.height));
  }

  setNoise(share) {
    this.noise = share;
    this.refresh();
  }

  shuffleNoise() {
    this.flips = draws(this.flips.length);
    this.refresh();
  }

  resizePatch(size) {
    this.patch.size = size;
    this.movePatch(0, 0);
  }

  movePatch(rows, columns) {
    const { row, column, size } = this.patch;
    this.patch.row = Math.max(0, Math.min(this.height - size, row + rows));
    this.patch.column = Math.max(0, Math.min(this.width - size, column + columns));
    this.refresh();
  }

  /** Redraw and call `onChange`. */
  refresh() {
    const seen = this.seen();
    paint(this.canvas, seen.map((pixel, place) => inputColour(pixel, this.drawing[place])));
    this.#position(this.handle, this.patch.row, this.patch.column, this.patch.size);
    this.#position(this.marker, this.cursor.row, this.cursor.column, 1);
    this.handle.hidden = this.patch.size === 0;
    this.handle.setAttribute(
      "aria-label",
      `Patch of ${this.patch.size} pixels at row ${this.patch.row + 1}, column ${this.patch.column + 1}. Arrow keys move it.`,
    );
    this.onChange(seen);
  }

  #position(node, row, column, size) {
    node.style.top = `${(100 * row) / this.height}%`;
    node.style.left = `${(100 * column) / this.width}%`;
    node.style.height = `${(100 * size) / this.height}%`;
    node.style.width = `${(100 * size) / this.width}%`;
  }

  #listen() {
    this.canvas.addEventListener("pointerdown", (event) => this.#startStroke(event));
    this.canvas.addEventListener("pointermove", (event) => this.#stroke(event));
    this.canvas.addEventListener("keydown", (event) => this.#key(event));
    this.handle.addEventListener("pointerdown", (event) => this.#grab(event));
    this.handle.addEventListener("pointermove", (event) => this.#drag(event));
    this.handle.addEventListener("keydown", (event) => this.#nudge(event));
  }

  #cell(event) {
    const box = this.canvas.getBoundingClientRect();
    return {
      row: Math.floor(((event.clientY - box.top) / box.height) * this.height),
      column: Math.floor(((event.clientX - box.left) / box.width) * this.width),
    };
  }

  #startStroke(event) {
    this.canvas.setPointerCapture(event.pointerId);
    this.last = this.#cell(event);
    this.#dab(this.last);
    this.refresh();
  }

  #stroke(event) {
    if (!this.canvas.hasPointerCapture(event.pointerId)) return;
    const cell = this.#cell(event);
    const steps = Math.max(1, Math.abs(cell.row - this.last.row), Math.abs(cell.column - this.last.column));
    for (let step = 1; step <= steps; step += 1) {
      this.#dab({
        row: Math.round(this.last.row + ((cell.row - this.last.row) * step) / steps),
        column: Math.round(this.last.column + ((cell.column - this.last.column) * step) / steps),
      });
    }
    this.last = cell;
    this.refresh();
  }

  /** Draw a pixel and its four neighbours. */
  #dab({ row, column }) {
    for (const [r, c] of [[0, 0], [0, 1], [1, 0], [0, -1], [-1, 0]]) this.#set(row + r, column + c);
  }

  #set(row, column) {
    const inside = row >= 0 && row < this.height && column >= 0 && column < this.width;
    if (inside) this.drawing[row * this.width + column] = this.pen;
  }

  #key(event) {
    const move = arrow(event);
    if (move) {
      this.cursor.row = Math.max(0, Math.min(this.height - 1, this.cursor.row + move.rows));
      this.cursor.column = Math.max(0, Math.min(this.width - 1, this.cursor.column + move.columns));
    } else if (event.key === " " || event.key === "Enter") {
      this.#set(this.cursor.row, this.cursor.column);
    } else return;
    event.preventDefault();
    this.refresh();
  }

  #grab(event) {
    this.handle.setPointerCapture(event.pointerId);
    this.held = this.#cell(event);
  }

  #drag(event) {
    if (!this.handle.hasPointerCapture(event.pointerId)) return;
    const cell = this.#cell(event);
    const before = { ...this.patch };
    this.movePatch(cell.row - this.held.row, cell.column - this.held.column);
    // at the edge the pointer moves further than the patch
    this.held.row += this.patch.row - before.row;
    this.held.column += this.patch.column - before.column;
  }

  #nudge(event) {
    const move = arrow(event);
    if (!move) return;
    event.preventDefault();
    this.movePatch(move.rows, move.columns);
  }
}

const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

/** The move of an arrow key: one pixel, or four with Shift. */
function arrow(event) {
  const move = ARROWS[event.key];
  if (!move) return null;
  const distance = event.shiftKey ? 4 : 1;
  return { rows: move[0] * distance, columns: move[1] * distance };
}
