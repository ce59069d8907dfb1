// A row of numbers as people paste it.

/** The numbers of a pasted line, or what is wrong with it. */
export function parseRow(text, count) {
  const line = text.trim();
  if (!line) return { error: "Paste a row of numbers." };
  const parts = line.split(/[\s,;]+/).filter((part) => part !== "");
  const strange = parts.find((part) => !Number.isFinite(Number(part)));
  if (strange !== undefined) return { error: `“${strange.slice(0, 20)}” is not a number.` };
  if (parts.length !== count) return { error: `${count} numbers are needed; these are ${parts.length}.` };
  return { row: parts.map(Number) };
}
