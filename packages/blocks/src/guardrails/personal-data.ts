/** Personal data in a text. The text itself is omitted, so that the log does not repeat it. */
export interface Entity {
  type: string;
  /** Position of the first character, from 0. */
  start: number;
  /** Position after the last character. */
  end: number;
}

/** Loads the libraries with which the detectors check whether a candidate is personal data. */
async function loadLibraries() {
  const [{ default: validator }, { parsePhoneNumberFromString }] = await Promise.all([
    import('validator'),
    import('libphonenumber-js/max'),
  ]);
  return { ...validator.default, parsePhoneNumberFromString };
}

type Libraries = Awaited<ReturnType<typeof loadLibraries>>;

/** The detector of one type of personal data. */
interface Detector {
  /** Matches candidates. All repetitions are bounded, so that a search takes linear time. */
  candidatePattern: RegExp;
  /** Returns how many characters of a candidate are data; 0: none. */
  lengthOf(candidate: string, libraries: Libraries): number;
}

type Check = (text: string, libraries: Libraries) => boolean;

/** Returns a `lengthOf` that ignores the spaces and dashes that people write into numbers. */
function ignoreSeparators(isValid: Check): Detector['lengthOf'] {
  return (text, libraries) => (isValid(text.replaceAll(/[ -]/g, ''), libraries) ? text.length : 0);
}

/** Returns a `lengthOf` that ignores the punctuation after a candidate. */
function ignorePunctuation(isValid: Check): Detector['lengthOf'] {
  return (candidate, libraries) => {
    const text = candidate.replace(/[.,;:!?'"]{1,9}$/, '');
    return isValid(text, libraries) ? text.length : 0;
  };
}

/** Returns a `lengthOf` that drops last words, which may belong to the sentence, until the candidate is valid. */
function dropLastWords(isValid: Check): Detector['lengthOf'] {
  return (candidate, libraries) => {
    for (let end = candidate.length; end > 0; end = candidate.lastIndexOf(' ', end - 1))
      if (isValid(candidate.slice(0, end).replaceAll(' ', ''), libraries)) return end;
    return 0;
  };
}

/**
 * The detectors by type. The types have the names that they have in exported workflows. If two matches overlap, the
 * match of the earlier detector is used.
 */
const DETECTORS: { readonly [type: string]: Detector } = {
  EMAIL_ADDRESS: {
    candidatePattern: /[^\s@<>()[\]",;:]{1,64}@[^\s@<>()[\]",;:]{1,255}/g,
    lengthOf: ignorePunctuation((text, { isEmail }) => isEmail(text)),
  },
  URL: {
    candidatePattern: /\bhttps?:\/\/[^\s<>"]{1,2000}/gi,
    lengthOf: ignorePunctuation((text, { isURL }) => isURL(text)),
  },
  IBAN_CODE: {
    candidatePattern: /\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,30}\b/g,
    lengthOf: dropLastWords((text, { isIBAN }) => isIBAN(text)),
  },
  CREDIT_CARD: {
    candidatePattern: /(?<!\d)\d(?:[ -]?\d){12,18}(?!\d)/g,
    lengthOf: ignoreSeparators((text, { isCreditCard }) => isCreditCard(text)),
  },
  US_SSN: {
    candidatePattern: /(?<![\w-])(?!000|666|9\d\d)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\w-])/g,
    lengthOf: (text) => text.length,
  },
  IP_ADDRESS: {
    candidatePattern: /(?<![\w.:])[0-9A-Fa-f:.]{3,46}(?!\w)/g,
    lengthOf: ignorePunctuation((text, { isIP }) => /\d/.test(text) && isIP(text)),
  },
  CRYPTO: {
    candidatePattern: /\b(?:bc1|[13])[a-zA-HJ-NP-Z0-9]{25,61}\b/g,
    lengthOf: ignoreSeparators((text, { isBtcAddress }) => isBtcAddress(text)),
  },
  ES_NIF: {
    candidatePattern: /\b[\dXYZ]\d{7}[A-Z]\b/g,
    lengthOf: ignoreSeparators((text, { isIdentityCard }) => isIdentityCard(text, 'ES')),
  },
  IT_FISCAL_CODE: {
    candidatePattern: /\b[A-Z]{6}\d{2}[A-Z]\d{2}[A-Z]\d{3}[A-Z]\b/g,
    lengthOf: ignoreSeparators((text, { isTaxID }) => isTaxID(text, 'it-IT')),
  },
  PL_PESEL: {
    candidatePattern: /\b\d{11}\b/g,
    lengthOf: ignoreSeparators((text, { isIdentityCard }) => isIdentityCard(text, 'PL')),
  },
  IN_AADHAAR: {
    candidatePattern: /(?<![\w-])[2-9]\d{3}[ -]?\d{4}[ -]?\d{4}(?![\w-])/g,
    lengthOf: ignoreSeparators((text, { isIdentityCard }) => isIdentityCard(text, 'IN')),
  },
  PHONE_NUMBER: {
    candidatePattern: /(?<![\w.])\+?\(?\d(?:[ ().-]{0,3}\d){6,14}(?!\w)/g,
    lengthOf: (text, { parsePhoneNumberFromString }) =>
      parsePhoneNumberFromString(text, 'US')?.isValid() === true ? text.length : 0,
  },
};

/** Returns the types of personal data that can be found. */
export function supportedEntityTypes(): string[] {
  return Object.keys(DETECTORS);
}

/** Returns the personal data of these types in a text, in order and without overlaps. */
export async function findPersonalData(text: string, types: readonly string[]): Promise<Entity[]> {
  const entities: Entity[] = [];
  const libraries = await loadLibraries();
  for (const [type, detector] of Object.entries(DETECTORS)) {
    if (!types.includes(type)) continue;
    for (const { 0: candidate, index: start } of text.matchAll(detector.candidatePattern)) {
      const length = detector.lengthOf(candidate, libraries);
      if (length > 0) entities.push({ type, start, end: start + length });
    }
  }
  return withoutOverlaps(entities);
}

/** Returns the entities in text order. Of overlapping entities, keeps the one of the earlier detector. */
function withoutOverlaps(entities: readonly Entity[]): Entity[] {
  const rankedEntities = entities.map((entity, rank) => ({ entity, rank }));
  rankedEntities.sort((a, b) => a.entity.start - b.entity.start || a.rank - b.rank);
  const chosenEntities: { entity: Entity; rank: number }[] = [];
  for (const rankedEntity of rankedEntities) {
    const lastChosenEntity = chosenEntities.at(-1);
    if (!lastChosenEntity || rankedEntity.entity.start >= lastChosenEntity.entity.end)
      chosenEntities.push(rankedEntity);
    else if (rankedEntity.rank < lastChosenEntity.rank)
      chosenEntities[chosenEntities.length - 1] = rankedEntity;
  }
  return chosenEntities.map(({ entity }) => entity);
}

/** Returns the text with each entity replaced by `<TYPE>`. */
export function maskEntities(text: string, entities: readonly Entity[]): string {
  const parts: string[] = [];
  let position = 0;
  for (const { type, start, end } of entities) {
    parts.push(text.slice(position, start), `<${type}>`);
    position = end;
  }
  return [...parts, text.slice(position)].join('');
}
