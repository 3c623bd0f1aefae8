import { EngineError } from '../errors.ts';
import { isJsonObject } from '../json.ts';
import type { Json } from '../json.ts';
import { MACHINE_VERSION } from '../machine/skeleton.ts';
import { PLAN_FORMAT } from './plan.ts';
import type { Plan } from './plan.ts';

/**
 * The stored plan, when this version of Heddle can run it.
 *
 * Throws PLAN_FORMAT_UNSUPPORTED for a plan of another format or for other rules of the machine.
 */
export function readPlan(json: Json): Plan {
  const { format, machine } = isJsonObject(json) ? json : {};
  if (format !== PLAN_FORMAT || machine !== MACHINE_VERSION) {
    throw new EngineError(
      'PLAN_FORMAT_UNSUPPORTED',
      `The plan has format ${String(format)} and rules of version ${String(machine)}; this Heddle reads format ${PLAN_FORMAT} with rules of version ${MACHINE_VERSION}. Use a newer Heddle, or deploy the workflow again.`,
    );
  }
  return json as unknown as Plan;
}
