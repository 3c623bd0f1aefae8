/** Maximum length of those lists of a report that the blocks of a draft do not bound. */
export const MAX_LISTED = 500;

/** Maximum length of a value of the draft that a report repeats. */
const SHOWN_CHARACTERS = 200;

/** Returns the value as a report shows it. */
export function shownValue(text: string): string {
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS - 1)}…` : text;
}
