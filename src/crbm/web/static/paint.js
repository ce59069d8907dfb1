// Pictures in the colours of the paper's Figure 2.

const BLACK = [0, 0, 0];
const WHITE = [255, 255, 255];
const RED = [230, 40, 40];
const BLUE = [60, 90, 200];
const GHOST = [46, 46, 50];
// Probabilities in between are unsure.
const SURE = [0.1, 0.9];

const mix = (from, to, share) => from.map((value, i) => Math.round(value + share * (to[i] - value)));
export const isUnsure = (p) => p > SURE[0] && p < SURE[1];

/** White: in both. Red: only in the prediction. Blue: taken away. Unsure: in between. */
export function restoredColour(input, predicted, p, shaded) {
  if (!shaded || !isUnsure(p)) {
    if (predicted) return input ? WHITE : RED;
    return input ? BLUE : BLACK;
  }
  const share = (p - SURE[0]) / (SURE[1] - SURE[0]);
  return input ? mix(BLUE, WHITE, share) : mix(BLACK, RED, share);
}

/** What a model sees in white; what is hidden from it faintly. */
export function inputColour(seen, drawn) {
  if (seen) return WHITE;
  return drawn ? GHOST : BLACK;
}

/** Fill a canvas with one colour per pixel; the canvas has the image's own size. */
export function paint(canvas, colours) {
  const context = canvas.getContext("2d");
  const image = context.createImageData(canvas.width, canvas.height);
  colours.forEach((colour, place) => image.data.set([...colour, 255], 4 * place));
  context.putImageData(image, 0, 0);
}
