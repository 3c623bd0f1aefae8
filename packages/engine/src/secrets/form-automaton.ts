/** A prefix of `depth` characters that the sorted forms from `first` to `last` (exclusive) have in common. */
export interface State {
  first: number;
  last: number;
  depth: number;
  /** The longest proper suffix of this prefix that is a prefix of a form; undefined: the empty one. */
  fallback: State | undefined;
  /** The longest form that ends here. */
  form: string | undefined;
  /** The longest suffix of this prefix that may continue as a form; undefined: the empty one. */
  incomplete: State | undefined;
}

/**
 * The automaton of Aho and Corasick. It finds forms in a text: the encodings in which secrets can occur. A state is
 * created from the sorted forms when a text first reaches it, so that thousands of long secrets take little memory.
 */
export class FormAutomaton {
  readonly #forms: readonly string[];
  readonly #names: ReadonlyMap<string, string>;
  readonly #states = new Map<number, State>();
  /** The states of depth 1 by character. Most characters of a text do not begin a form. */
  readonly #starts = new Map<number, State | undefined>();
  /** Length of the longest form. */
  readonly maxFormLength: number;
  /** True if a form contains white space. */
  readonly hasSpace: boolean;
  readonly #root: State;

  /** `names`: the names of the secrets, by form. */
  constructor(names: ReadonlyMap<string, string>) {
    this.#names = names;
    this.#forms = [...names.keys()].sort();
    this.maxFormLength = this.#forms.reduce((max, { length }) => Math.max(max, length), 0);
    this.hasSpace = this.#forms.some((form) => /\s/.test(form));
    const { length } = this.#forms;
    this.#root = {
      first: 0,
      last: length,
      depth: 0,
      fallback: undefined,
      form: undefined,
      incomplete: undefined,
    };
  }

  get root(): State {
    return this.#root;
  }

  /** Returns the state after another character. Its amortized time is logarithmic in the number of forms. */
  next(current: State, code: number): State {
    for (let state: State | undefined = current; state && state !== this.#root; state = state.fallback) {
      const next = this.#extend(state, code);
      if (next) return next;
    }
    return this.#start(code) ?? this.#root;
  }

  /** Returns the name of the secret with this form. */
  nameOf(form: string): string {
    return this.#names.get(form) ?? '';
  }

  #start(code: number): State | undefined {
    if (!this.#starts.has(code)) this.#starts.set(code, this.#extend(this.#root, code));
    return this.#starts.get(code);
  }

  /** Returns the state one character deeper; undefined if no form has this prefix. */
  #extend(state: State, code: number): State | undefined {
    const { depth } = state;
    const first = this.#lowerBound(state, code);
    if (first === state.last || this.#codeAt(first, depth) !== code) return undefined;
    const key = first * (this.maxFormLength + 1) + depth + 1;
    return this.#states.get(key) ?? this.#create({ state, code, first, key });
  }

  /**
   * Creates a state after creating its fallback, recursively. The prefixes in such a chain have different lengths, and
   * no form begins with two of them, because the shorter one would already have a state. So the recursion is at most as
   * deep as the square root of twice the total length of the forms.
   */
  #create({ state, code, first, key }: { state: State; code: number; first: number; key: number }): State {
    const depth = state.depth + 1;
    const last = this.#lowerBound({ ...state, first }, code + 1);
    const fallback = state === this.#root ? undefined : this.#longestSuffix(state.fallback, code);
    const isForm = this.#forms[first]?.length === depth;
    const created: State = {
      first,
      last,
      depth,
      fallback,
      form: isForm ? this.#forms[first] : fallback?.form,
      incomplete: fallback?.incomplete,
    };
    if (!isForm || last - first > 1) created.incomplete = created;
    this.#states.set(key, created);
    return created;
  }

  #longestSuffix(prefix: State | undefined, code: number): State | undefined {
    const suffix = this.next(prefix ?? this.#root, code);
    return suffix === this.#root ? undefined : suffix;
  }

  /**
   * Returns the index of the state's first form whose next character is at least `code`. A form without a next
   * character comes before all others.
   */
  #lowerBound({ first, last, depth }: State, code: number): number {
    let [low, high] = [first, last];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#codeAt(middle, depth) < code) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #codeAt(formIndex: number, depth: number): number {
    const text = this.#forms[formIndex] ?? '';
    return depth < text.length ? text.charCodeAt(depth) : -1;
  }
}
