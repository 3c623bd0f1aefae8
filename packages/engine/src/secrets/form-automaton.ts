/** A prefix of `depth` characters that the sorted forms from `first` to `end` (exclusive) have in common. */
export interface AutomatonState {
  first: number;
  end: number;
  depth: number;
  /** The longest proper suffix of this prefix that is a prefix of a form; undefined: the empty one. */
  fallback: AutomatonState | undefined;
  /** The longest form that ends here. */
  form: string | undefined;
  /** The longest suffix of this prefix that may continue as a form; undefined: the empty one. */
  incompleteForm: AutomatonState | undefined;
}

/**
 * An Aho–Corasick automaton. It finds forms in a text: the encodings in which secrets can occur. A state is
 * created from the sorted forms when a text first reaches it, so that thousands of long secrets take little memory.
 */
export class FormAutomaton {
  readonly #forms: readonly string[];
  readonly #names: ReadonlyMap<string, string>;
  readonly #states = new Map<number, AutomatonState>();
  /** The states of depth 1 by character. Most characters of a text do not begin a form. */
  readonly #firstStates = new Map<number, AutomatonState | undefined>();
  /** Length of the longest form. */
  readonly maxFormLength: number;
  /** True if a form contains white space. */
  readonly hasSpace: boolean;
  readonly #root: AutomatonState;

  /** `names`: the names of the secrets, by form. */
  constructor(names: ReadonlyMap<string, string>) {
    this.#names = names;
    this.#forms = [...names.keys()].sort();
    this.maxFormLength = this.#forms.reduce((max, { length }) => Math.max(max, length), 0);
    this.hasSpace = this.#forms.some((form) => /\s/.test(form));
    const { length } = this.#forms;
    this.#root = {
      first: 0,
      end: length,
      depth: 0,
      fallback: undefined,
      form: undefined,
      incompleteForm: undefined,
    };
  }

  get root(): AutomatonState {
    return this.#root;
  }

  /** Returns the state after another character. Its amortized time is logarithmic in the number of forms. */
  next(currentState: AutomatonState, code: number): AutomatonState {
    for (
      let state: AutomatonState | undefined = currentState;
      state && state !== this.#root;
      state = state.fallback
    ) {
      const nextState = this.#extend(state, code);
      if (nextState) return nextState;
    }
    return this.#firstState(code) ?? this.#root;
  }

  /** Returns the name of the secret with this form. */
  nameOf(form: string): string {
    return this.#names.get(form) ?? '';
  }

  #firstState(code: number): AutomatonState | undefined {
    if (!this.#firstStates.has(code)) this.#firstStates.set(code, this.#extend(this.#root, code));
    return this.#firstStates.get(code);
  }

  /** Returns the state one character deeper; undefined if no form has this prefix. */
  #extend(state: AutomatonState, code: number): AutomatonState | undefined {
    const { depth } = state;
    const first = this.#lowerBound(state, code);
    if (first === state.end || this.#codeAt(first, depth) !== code) return undefined;
    const key = first * (this.maxFormLength + 1) + depth + 1;
    return this.#states.get(key) ?? this.#create({ state, code, first, key });
  }

  /**
   * Creates a state after creating its fallback, recursively. The prefixes in such a chain have different lengths, and
   * no form begins with two of them, because the shorter one would already have a state. So the recursion is at most as
   * deep as the square root of twice the total length of the forms.
   */
  #create({
    state,
    code,
    first,
    key,
  }: {
    state: AutomatonState;
    code: number;
    first: number;
    key: number;
  }): AutomatonState {
    const depth = state.depth + 1;
    const end = this.#lowerBound({ ...state, first }, code + 1);
    const fallback = state === this.#root ? undefined : this.#longestSuffix(state.fallback, code);
    const isForm = this.#forms[first]?.length === depth;
    const createdState: AutomatonState = {
      first,
      end,
      depth,
      fallback,
      form: isForm ? this.#forms[first] : fallback?.form,
      incompleteForm: fallback?.incompleteForm,
    };
    if (!isForm || end - first > 1) createdState.incompleteForm = createdState;
    this.#states.set(key, createdState);
    return createdState;
  }

  #longestSuffix(prefix: AutomatonState | undefined, code: number): AutomatonState | undefined {
    const suffix = this.next(prefix ?? this.#root, code);
    return suffix === this.#root ? undefined : suffix;
  }

  /**
   * Returns the index of the state's first form whose next character is at least `code`. A form without a next
   * character comes before all others.
   */
  #lowerBound({ first, end, depth }: AutomatonState, code: number): number {
    let [low, high] = [first, end];
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
