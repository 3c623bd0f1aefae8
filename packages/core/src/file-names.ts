const MOST_NAME_CHARACTERS = 255;
const MOST_TYPE_CHARACTERS = 127;
const UNKNOWN_TYPE = 'application/octet-stream';

/** Controls, halves of characters, and marks that turn the direction in which a name is read. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}\u202A-\u202E\u2066-\u2069]/gu;
const HALF_AT_END = /\p{Cs}$/u;
const MEDIA_TYPE = /^[a-z0-9][\w.+-]*\/[a-z0-9][\w.+*-]*(?:; ?[\w-]+=[\w.+-]+)*$/i;

/** A name that is no path and can be shown: what stands behind the last slash, without controls. */
export function fileName(text: string): string {
  const base = text.split(/[/\\]/).findLast((part) => part.trim() !== '') ?? '';
  const shown = base.replaceAll(UNPRINTABLE, '_').trim();
  const name = shown.slice(0, MOST_NAME_CHARACTERS).replace(HALF_AT_END, '');
  return /^\.*$/.test(name) ? 'file' : name;
}

/** The media type, where the text is one; else that of bytes of which nothing is known. */
export function mediaType(text: string | undefined): string {
  const type = (text ?? '').trim();
  return type.length <= MOST_TYPE_CHARACTERS && MEDIA_TYPE.test(type) ? type : UNKNOWN_TYPE;
}
