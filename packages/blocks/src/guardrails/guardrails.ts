import { BlockError } from '@heddle/core/blocks';
import * as z from 'zod';
import { defineLazyBlock } from '../define.ts';
import { invalidConfigError } from '../invalid-config-error.ts';
import type { Context } from '../define.ts';
import { modelFields, modelOutputs } from '../models/fields.ts';
import { checkGrounding } from './grounding.ts';
import { supportedEntityTypes, findPersonalData, maskEntities } from './personal-data.ts';
import type { Entity } from './personal-data.ts';

/** Time limit of one test of a regular expression: expressions of authors could take hours. */
const MAX_PATTERN_MS = 1000;

/** The result of a check. */
interface Verdict {
  passed: boolean;
  error?: string;
  maskedText?: string;
  detectedEntities?: Entity[];
}

const entitySchema = z.object({ type: z.string(), start: z.number(), end: z.number() });

const fields = z.object({
  input: z.string().describe('The text to check.'),
  validationType: z
    .enum(['json', 'regex', 'pii', 'hallucination'])
    .default('json')
    .describe('The check: json, regex, pii, or hallucination (whether a knowledge base supports the text).'),
  regex: z.string().optional().describe('For regex: the expression, in the syntax of JavaScript.'),
  piiEntityTypes: z
    .array(z.string())
    .optional()
    .describe('For pii: the types of personal data to detect. Default: all supported types.'),
  piiMode: z
    .enum(['block', 'mask'])
    .default('block')
    .describe(
      'For pii: what happens to a text with personal data. block: the text does not pass. mask: the text passes, and the data is replaced.',
    ),
  knowledgeBaseId: z
    .string()
    .optional()
    .describe('For hallucination: the id of a knowledge base that the host stores.'),
  threshold: z.coerce
    .number()
    .min(0)
    .max(10)
    .default(3)
    .describe('For hallucination: the lowest score that passes, from 0 to 10. Default: 3.'),
  topK: z.coerce
    .number()
    .int()
    .min(1)
    .max(20)
    .default(5)
    .describe('For hallucination: how many passages the model gets, at most 20. Default: 5.'),
  ...modelFields,
});

type Fields = z.output<typeof fields>;

/** A check of a text. */
export const guardrails = defineLazyBlock({
  summary:
    'Checks a text: whether it is JSON, matches a regular expression, contains personal data, or is supported by a knowledge base.',
  fields,
  outputs: z.object({
    passed: z.boolean().describe('Whether the text passes.'),
    validationType: z.string().describe('The check.'),
    input: z.string().describe('The text that was checked.'),
    error: z.string().optional().describe('Why the text does not pass.'),
    maskedText: z
      .string()
      .optional()
      .describe('For piiMode mask: the text with personal data replaced by <TYPE>.'),
    detectedEntities: z
      .array(entitySchema)
      .optional()
      .describe('For pii: the personal data that was found, each with its type, start and end in the text.'),
    score: z
      .number()
      .optional()
      .describe('For hallucination: how far the knowledge base supports the text, from 0 to 10.'),
    reasoning: z.string().optional().describe('For hallucination: why the model gave this score.'),
    ...z.object(modelOutputs).partial().shape,
  }),
  async run(call) {
    const { input, validationType } = call.fields;
    const verdict =
      validationType === 'hallucination'
        ? await checkGrounding(call)
        : await checkText(call.fields, call.context);
    return { output: { ...verdict, validationType, input } };
  },
});

async function checkText(values: Fields, context: Context): Promise<Verdict> {
  const { input, validationType, regex } = values;
  if (validationType === 'json') return checkJson(input);
  if (validationType === 'pii') return checkPersonalData(values, context);
  if (regex === undefined) throw invalidConfigError(context, 'has no regular expression: fill in "regex"');
  return checkPattern(context, regex, input);
}

function checkJson(text: string): Verdict {
  try {
    JSON.parse(text);
    return { passed: true };
  } catch (error) {
    return { passed: false, error: `The text is not JSON: ${(error as Error).message}` };
  }
}

/** Tests the expression in the sandbox, where it can be stopped. */
async function checkPattern(context: Context, pattern: string, text: string): Promise<Verdict> {
  const sandbox = await context.services.sandbox();
  const code = `(() => {
    let expression;
    try { expression = new RegExp(pattern); } catch (error) { return { patternError: error.message }; }
    return { passed: expression.test(text) };
  })()`;
  const outcome = await sandbox.evaluate({
    runId: context.runId,
    mode: 'values',
    expressions: [{ code, values: { pattern: JSON.stringify(pattern), text: JSON.stringify(text) } }],
    limits: { cpuMs: MAX_PATTERN_MS, wallMs: MAX_PATTERN_MS },
    signal: context.signal,
  });
  if (!outcome.ok) throw failureOf(context, outcome.error);
  const { passed, patternError } = JSON.parse(outcome.json[0] ?? '{}') as {
    passed?: boolean;
    patternError?: string;
  };
  if (passed === undefined)
    throw invalidConfigError(context, `has an invalid regular expression: ${patternError}`);
  return passed ? { passed } : { passed, error: 'The text does not match the regular expression.' };
}

function failureOf(
  { block }: Context,
  error: { code: string; message: string; retryable: boolean },
): BlockError {
  if (error.code === 'CANCELLED') return new BlockError('CANCELLED', error.message, { retryable: false });
  const isTooSlow = error.code === 'TIMEOUT_CPU' || error.code === 'TIMEOUT_WALL';
  const problem = isTooSlow
    ? `takes longer than ${MAX_PATTERN_MS} ms with this text: write one without nested repetitions`
    : `could not be tested: ${error.message}`;
  const message = `The regular expression of the block "${block.name}" ${problem}.`;
  return new BlockError('EXPRESSION_FAILED', message, { retryable: error.retryable });
}

async function checkPersonalData(
  { input, piiEntityTypes = [], piiMode }: Fields,
  context: Context,
): Promise<Verdict> {
  const supportedTypes = supportedEntityTypes();
  const unsupportedTypes = piiEntityTypes.filter((type) => !supportedTypes.includes(type));
  if (unsupportedTypes.length > 0)
    throw invalidConfigError(
      context,
      `checks for unsupported types of data: ${unsupportedTypes.join(', ')}. Supported types are ${supportedTypes.join(', ')}`,
    );
  const types = piiEntityTypes.length > 0 ? piiEntityTypes : supportedTypes;
  const detectedEntities = await findPersonalData(input, types);
  if (piiMode === 'mask')
    return { passed: true, maskedText: maskEntities(input, detectedEntities), detectedEntities };
  if (detectedEntities.length === 0) return { passed: true, detectedEntities };
  const detectedTypes = [...new Set(detectedEntities.map(({ type }) => type))].join(', ');
  return { passed: false, error: `The text has personal data: ${detectedTypes}.`, detectedEntities };
}
