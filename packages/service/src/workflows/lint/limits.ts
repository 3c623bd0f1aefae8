/** Maximum length of each list of a report that can have more items than the draft has blocks. */
export const MAX_LISTED = 500;

/** Maximum length of a value of the draft that a report repeats. */
const MAX_SHOWN_CHARACTERS = 200;

/** Returns the value, shortened for a report. */
export function shownValue(text: string): string {
  return text.length > MAX_SHOWN_CHARACTERS ? `${text.slice(0, MAX_SHOWN_CHARACTERS - 1)}…` : text;
}
