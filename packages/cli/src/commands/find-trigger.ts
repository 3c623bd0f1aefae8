import type { JsonObject } from '@heddle/core/blocks';
import { stringAt } from '../api-client.ts';
import { sanitizeLine } from '../render/style.ts';
import { UsageError } from '../usage-error.ts';

/** Returns the trigger with this id, or the only trigger of the workflow with this name or id. Throws usage errors. */
export function findTrigger(
  triggers: readonly JsonObject[],
  idOrName: string,
  noun: 'schedule' | 'trigger' | 'webhook',
): JsonObject {
  const idMatches = triggers.filter((trigger) => stringAt(trigger, 'id') === idOrName);
  const matches =
    idMatches.length > 0 ? idMatches : triggers.filter((trigger) => belongsToWorkflow(trigger, idOrName));
  const [trigger] = matches;
  if (!trigger) {
    throw new UsageError(
      `The workspace has no ${noun} "${sanitizeLine(idOrName)}".`,
      `heddle ${noun}s list shows the ${noun}s of deployed workflows.`,
    );
  }
  if (matches.length > 1) {
    const ids = matches
      .map((match) => `${stringAt(match, 'id')} (${sanitizeLine(stringAt(match, 'name'))})`)
      .join(', ');
    throw new UsageError(`"${sanitizeLine(idOrName)}" has several ${noun}s.`, `Use the id of one: ${ids}.`);
  }
  return trigger;
}

function belongsToWorkflow(trigger: JsonObject, idOrName: string): boolean {
  return ['workflowName', 'workflowId'].some((key) => stringAt(trigger, key) === idOrName);
}
