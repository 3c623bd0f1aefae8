import * as z from 'zod';

/** The fields that choose a model and its settings. `resolveModels`, `modelSettings` and `FallbackModels` read them. */
export const modelFields = {
  model: z
    .string()
    .optional()
    .describe('Name of a known model, or PROVIDER/MODEL. Default: the model of --default-model.'),
  fallbackModels: z
    .array(z.string())
    .optional()
    .describe(
      'Models that are called in this order if the model is unavailable. Default: the models of --fallback-model.',
    ),
  maxCost: z.coerce
    .number()
    .min(0)
    .optional()
    .describe('Maximum cost of one execution of the block in dollars, including all calls and attempts.'),
  apiKey: z.string().optional().describe('API key of the provider, such as {{OPENAI_API_KEY}}.'),
  temperature: z.coerce
    .number()
    .min(0)
    .max(2)
    .optional()
    .describe('Sampling temperature of the model, from 0 to 2.'),
  maxTokens: z.coerce.number().min(1).optional().describe('Maximum length of an answer, in tokens.'),
  reasoningEffort: z
    .string()
    .optional()
    .describe('Reasoning effort of the model: auto, none, minimal, low, medium, high, xhigh or max.'),
  thinkingLevel: z.string().optional().describe('The same as reasoningEffort.'),
  promptCaching: z
    .union([z.boolean(), z.enum(['true', 'false'])])
    .optional()
    .describe(
      'True: Heddle asks the provider to cache the prompt, if the provider caches only on request. Default: true if the block has tools or a memory.',
    ),
  verbosity: z.string().optional().describe('Length of answers of OpenAI models: auto, low, medium or high.'),
  azureEndpoint: z.string().optional().describe('Endpoint of an Azure OpenAI resource.'),
  azureApiVersion: z.string().optional().describe('Version of the Azure OpenAI API.'),
  bedrockRegion: z.string().optional().describe('Region of AWS for models of Amazon Bedrock.'),
  bedrockApiKey: z.string().optional().describe('Key of Amazon Bedrock.'),
  bedrockAccessKeyId: z.string().optional().describe('AWS access key id, which needs bedrockSecretKey.'),
  bedrockSecretKey: z.string().optional().describe('AWS secret key.'),
};

const tokens = z
  .record(z.string(), z.number())
  .describe('Tokens of all calls: input, output, total, cached, cacheWrite, reasoning.');
const cost = z
  .record(z.string(), z.number())
  .optional()
  .describe(
    'Cost in dollars: input, output, total; and in millionths of a dollar: inputMicros, outputMicros, totalMicros. Absent for a model without prices.',
  );

/** The outputs of every block that calls a model. */
export const modelOutputs = {
  model: z.string().describe('Name of the model that answered.'),
  tokens,
  cost,
  unavailable: z
    .array(z.json())
    .optional()
    .describe('Unavailable models that were tried before: model, code, message. Absent if there is none.'),
};
