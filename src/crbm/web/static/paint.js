// Draw images in the colours of the paper's Figure 2.

const BLACK = [0, 0, 0];
const WHITE = [255, 255, 255];
const RED = [230, 40, 40];
const BLUE = [60, 90, 200];
const DARK_GREY = [46, 46, 50];
// Probabilities between these are uncertain.
const CERTAIN = [0.1, 0.9];

const mix = (from, to, share) => from.map((value, i) => Math.round(value + share * (to[i] - value)));
export const isUncertain = (p) => p > CERTAIN[0] && p < CERTAIN[1];

/** White: in input and prediction. Red: added. Blue: removed. Uncertain: a mixture. */
export function restoredColour(input, predicted, p, shaded) {
  if (!shaded || !isUncertain(p)) {
    if (predicted) return input ? WHITE : RED;
    return input ? BLUE : BLACK;
  }
  const share = (p - CERTAIN[0]) / (CERTAIN[1] - CERTAIN[0]);
  return input ? mix(BLUE, WHITE, share) : mix(BLACK, RED, share);
}

/** The model's input in white; hidden pixels of the drawing in dark grey. */
export function inputColour(seen, drawn) {
  if (seen) return WHITE;
  return drawn ? DARK_GREY : BLACK;
}

/** Paint one colour per pixel on a canvas of the size of the image. */
export function paint(canvas, colours) {
  const context = canvas.getContext("2d");
  const image = context.createImageData(canvas.width, canvas.height);
  colours.forEach((colour, index) => image.data.set([...colour, 255], 4 * index));
  context.putImageData(image, 0, 0);
}
