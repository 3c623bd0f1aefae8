/** Which server a command calls, and as whom; what is not given comes from the environment. */
export interface RemoteOptions {
  /** Else HEDDLE_URL, else the address at which `heddle serve` listens by default. */
  url?: string;
  /** Else HEDDLE_WORKSPACE. */
  workspace?: string;
}

export const DEFAULT_URL = 'http://127.0.0.1:7373';
