/** Most items of a list of a report whose items are not bounded by the blocks of a draft. */
export const MAX_LISTED = 500;

/** Most characters of a value of the draft that a report repeats. */
const SHOWN_CHARACTERS = 200;

/** Returns the value as a report shows it. */
export function shownValue(text: string): string {
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS - 1)}…` : text;
}
