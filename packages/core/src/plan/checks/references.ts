import { NearNames } from '../../refs/nearest.ts';
import type { Reference } from '../../refs/template.ts';
import { diagnostic } from '../codes.ts';
import type { DiagnosticDetails } from '../codes.ts';
import type { Compilation, SeenReference } from '../compilation.ts';
import type { BlockConfig } from '../plan.ts';
import { NeverRan } from './never-ran.ts';

/** References that lead somewhere, but never to a value. Each is reported once for a field, however often it is written. */
export function checkReferences(
  compilation: Compilation,
  reached: ReadonlySet<string>,
  blocks: ReadonlyMap<string, BlockConfig>,
): void {
  if (compilation.seen.length === 0) return;
  const looking = { order: new NeverRan(compilation, reached), blocks, outputs: new Map() };
  const reported = new Set<string>();
  for (const seen of compilation.seen) {
    const key = JSON.stringify([seen.site.path, seen.ref.text]);
    if (reported.has(key)) continue;
    reported.add(key);
    if (seen.ref.kind === 'invalid') report(compilation, 'REFERENCE_INVALID', seen, invalid(seen.ref));
    else if (seen.ref.kind === 'block' || seen.ref.kind === 'results')
      checkTarget(compilation, seen, looking);
  }
}

interface Looking {
  order: NeverRan;
  blocks: ReadonlyMap<string, BlockConfig>;
  /** The declared outputs of blocks that were asked for others, by block. */
  outputs: Map<string, DeclaredNames>;
}

interface DeclaredNames {
  near: NearNames;
  /** The names, or the first of them, for a sentence. */
  listed: string;
}

/** Outputs that a hint lists. */
const MOST_LISTED = 12;

function checkTarget(compilation: Compilation, seen: SeenReference, looking: Looking): void {
  const { ref, site } = seen;
  const target = ref.kind === 'block' || ref.kind === 'results' ? ref.block : '';
  const why = looking.order.why(site.block.id, target, seen.standing);
  if (why !== undefined) {
    report(compilation, 'REFERENCE_NEVER_RAN', seen, {
      message: `${ref.text} in "${site.block.name}" is always empty: ${why}.`,
      hint: 'Read a block that comes before, or move this one behind it.',
    });
  } else if (ref.kind === 'block') checkOutput(compilation, seen, looking);
}

/** Blocks that hand on more than they declare: a condition its source's output, a pause what was submitted. */
const OPEN = new Set(['condition', 'human_in_the_loop']);

/** The first step of the path against the block's declared outputs. Triggers pass on whatever their input brings. */
function checkOutput(compilation: Compilation, seen: SeenReference, { blocks, outputs }: Looking): void {
  if (seen.ref.kind !== 'block') return;
  const [first] = seen.ref.path;
  const target = blocks.get(seen.ref.block);
  if (!target?.outputs || target.trigger || OPEN.has(target.type)) return;
  if (typeof first !== 'string' || first === 'error') return;
  const { fields } = target.outputs;
  if (Object.hasOwn(fields, first)) return;
  const declared = outputs.get(target.id) ?? declaredNames(Object.keys(fields));
  outputs.set(target.id, declared);
  const near = declared.near.nearest(first);
  report(compilation, 'REFERENCE_UNDECLARED_OUTPUT', seen, {
    message: `${seen.ref.text} in "${seen.site.block.name}" names "${first}", which "${target.name}" does not declare; without it the block fails.`,
    hint: near ? `Did you mean "${near.name}"?` : `Its outputs are ${declared.listed}.`,
  });
}

function declaredNames(names: readonly string[]): DeclaredNames {
  const more = names.length - MOST_LISTED;
  const listed = names.slice(0, MOST_LISTED).join(', ');
  return { near: new NearNames(names), listed: more > 0 ? `${listed} and ${more} more` : listed };
}

function invalid(ref: Extract<Reference, { kind: 'invalid' }>): Pick<DiagnosticDetails, 'message' | 'hint'> {
  return { message: `${ref.message} The block fails when it is reached.`, hint: 'Correct the path.' };
}

function report(
  { found }: Compilation,
  code: 'REFERENCE_INVALID' | 'REFERENCE_NEVER_RAN' | 'REFERENCE_UNDECLARED_OUTPUT',
  { site }: SeenReference,
  text: Pick<DiagnosticDetails, 'message' | 'hint'>,
): void {
  found.push(diagnostic(code, { blockId: site.block.id, path: site.path, ...text }));
}
