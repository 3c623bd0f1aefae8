import { EngineError } from '../errors.ts';
import { isJsonObject, getOwn } from '../json.ts';
import type { Json } from '../json.ts';
import { MACHINE_VERSION } from '../machine/skeleton.ts';
import { PLAN_FORMAT } from './plan.ts';
import type { Plan } from './plan.ts';

/**
 * Returns the plan in stored JSON.
 *
 * Throws EngineError PLAN_FORMAT_UNSUPPORTED if the value is not a plan, or if this engine does not support the format
 * version or state machine version of the plan.
 */
export function readPlan(json: Json): Plan {
  if (!isJsonObject(json) || getOwn(json, 'format') === undefined) {
    throw new EngineError(
      'PLAN_FORMAT_UNSUPPORTED',
      'The stored value is not a plan. Compile the workflow again.',
    );
  }
  const format = getOwn(json, 'format');
  if (format !== PLAN_FORMAT) throw unsupportedVersionError('format', format, PLAN_FORMAT);
  const machine = getOwn(json, 'machine');
  if (machine !== MACHINE_VERSION) throw unsupportedVersionError('machine', machine, MACHINE_VERSION);
  const missing = ['hash', 'workflow', 'start', 'skeleton', 'blocks', 'variables', 'limits'].filter(
    (key) => getOwn(json, key) === undefined,
  );
  if (missing.length > 0) {
    const message = `The stored plan has no ${missing.join(', ')}. Compile the workflow again.`;
    throw new EngineError('PLAN_FORMAT_UNSUPPORTED', message, { details: { missing } });
  }
  return json as unknown as Plan;
}

function unsupportedVersionError(
  versionKind: 'format' | 'machine',
  actual: Json | undefined,
  supported: number,
): EngineError {
  const version = JSON.stringify(actual ?? null);
  const versionName = versionKind === 'machine' ? 'state machine version' : 'format version';
  return new EngineError(
    'PLAN_FORMAT_UNSUPPORTED',
    `The plan has ${versionName} ${version}, but this engine supports ${supported}. Run it with the engine that compiled it, or compile the workflow again.`,
    { details: { what: versionKind, found: actual ?? null, known: supported } },
  );
}
