import type { JsonObject } from '@heddle/core/blocks';
import { textOf } from '../api-client.ts';
import { safeLine } from '../render/style.ts';
import { UsageError } from '../usage-error.ts';

/** Returns the trigger with this id, or the only trigger of the workflow with this name or id. Throws usage errors. */
export function oneNamed(
  all: readonly JsonObject[],
  given: string,
  noun: 'schedule' | 'trigger' | 'webhook',
): JsonObject {
  const byId = all.filter((trigger) => textOf(trigger, 'id') === given);
  const found =
    byId.length > 0
      ? byId
      : all.filter((trigger) => ['workflowName', 'workflowId'].some((key) => textOf(trigger, key) === given));
  const [trigger] = found;
  if (!trigger) {
    throw new UsageError(
      `The workspace has no ${noun} "${safeLine(given)}".`,
      `heddle ${noun}s list shows the ${noun}s of deployed workflows.`,
    );
  }
  if (found.length > 1) {
    const ids = found.map((each) => `${textOf(each, 'id')} (${safeLine(textOf(each, 'name'))})`).join(', ');
    throw new UsageError(`"${safeLine(given)}" has several ${noun}s.`, `Use the id of one: ${ids}.`);
  }
  return trigger;
}
