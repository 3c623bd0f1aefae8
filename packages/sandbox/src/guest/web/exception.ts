/** Numbers of the names that have one (Web IDL, DOMException names table). */
const CODES: Readonly<Record<string, number>> = {
  IndexSizeError: 1,
  HierarchyRequestError: 3,
  InvalidCharacterError: 5,
  NotFoundError: 8,
  NotSupportedError: 9,
  InvalidStateError: 11,
  SyntaxError: 12,
  InvalidModificationError: 13,
  NamespaceError: 14,
  InvalidAccessError: 15,
  SecurityError: 18,
  NetworkError: 19,
  AbortError: 20,
  URLMismatchError: 21,
  QuotaExceededError: 22,
  TimeoutError: 23,
  DataCloneError: 25,
};

/** The error of the web's interfaces, told apart by its name. */
export class DOMException extends Error {
  override readonly name: string;
  readonly code: number;

  constructor(message = '', name = 'Error') {
    super(String(message));
    this.name = String(name);
    this.code = Object.hasOwn(CODES, this.name) ? (CODES[this.name] as number) : 0;
    Object.defineProperty(this, 'name', { enumerable: false });
    Object.defineProperty(this, 'code', { enumerable: false });
  }
}
