import type { RequiredFields } from './required-fields.ts';

/** What a draft is checked against, besides the workflows of its workspace. Undefined parts are not checked. */
export interface LintContext {
  /** The required fields of block types. */
  requiredFields: RequiredFields | undefined;
  /** The names of the workspace's values. */
  names: ReadonlySet<string> | undefined;
  sandboxes: boolean;
  /** The tools that agents can call. */
  tools: readonly { id: string }[] | undefined;
}
