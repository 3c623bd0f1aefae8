import type { TriggerProblem } from '@heddle/core/drafts';
import type { Json, JsonObject } from '@heddle/core/blocks';
import { inputFields, parseJson } from '@heddle/core/fields';
import * as z from 'zod';
import {
  credentialField,
  withTriggerConfig,
  booleanField,
  parseList,
  problemsOf,
  textField,
  integerField,
} from '../read-fields.ts';
import type { RegistrationConfig } from './registrations/registration.ts';
import { canRegisterWebhooks } from './registrations/webhook-registrar.ts';
import { PROVIDERS } from './providers.ts';
import type { WebhookProvider, ProviderName } from './providers.ts';

/** How requests are authenticated. `none`: anyone who knows the URL can start runs. */
type Check = 'none' | 'token' | 'hmac' | Exclude<ProviderName, 'generic'>;

/** The stored form of a webhook. Plain JSON. */
export interface WebhookConfig {
  provider: ProviderName;
  check: Check;
  /** The header with the token or signature; absent: the header of the scheme. */
  header?: string;
  /** The secret: text, or `{{NAME}}`. */
  secret?: string;
  /** Id of a stored credential that is the secret. */
  secretCredential?: string;
  /** The registration that Heddle creates at the provider; absent: the author creates it. */
  hook?: RegistrationConfig;
  path?: string;
  /** The events that start runs; absent: all. */
  events?: string[];
  /** Path of the delivery's id in the payload. */
  idField?: string;
  /** True if requests without a payload, with which some senders test the URL, succeed and start no run. */
  answersTests?: true;
  /** The response: the run's id (`now`), `status` and `body` (`json`), or that of the Response block (`run`). */
  reply: 'now' | 'json' | 'run';
  status?: number;
  body?: Json;
  /** The fields that contain files. */
  fileFields: string[];
}

const SCHEMES = ['token', 'hmac', 'standard', 'github', 'slack', 'stripe', 'linear', 'telegram'] as const;
const PATH_ERROR = 'a path of 8 to 128 letters, digits, dots, underscores and hyphens';
const HEADER_ERROR = 'the name of a header';
const ID_PATH_ERROR = 'a path of at most 256 characters, such as event.id';
const EVENTS_ERROR = 'a list of up to 500 events';
const header = textField.regex(/^[\w!#$%&'*+.^`|~-]{1,128}$/, { error: HEADER_ERROR });

/** Maximum number of characters of a secret. */
const MAX_SECRET_CHARS = 4096;
const secret = textField.max(MAX_SECRET_CHARS, { error: `text of at most ${MAX_SECRET_CHARS} characters` });

const secretCredential = credentialField.describe('Id of a stored credential to use as the secret.');

const path = textField
  .regex(/^[\w.-]{8,128}$/, { error: PATH_ERROR })
  .optional()
  .describe(
    'The last part of the URL, in place of a random one: 8 to 128 letters, digits, dots, underscores and hyphens.',
  );

/** The fields of a webhook for any sender. */
export const genericFields = z.object({
  requireAuth: booleanField
    .optional()
    .describe('Whether requests must have the token or signature. Default: yes, if there is one.'),
  token: secret
    .optional()
    .describe(
      'The secret text that requests have as `Authorization: Bearer`. Use {{NAME}}. Several lines: each is valid.',
    ),
  secretCredential,
  secretHeaderName: header
    .optional()
    .describe('The header that has the token in place of `Authorization`, or the signature of `hmac`.'),
  signatureScheme: z
    .enum(SCHEMES, { error: `one of ${SCHEMES.join(', ')}` })
    .default('token')
    .describe(
      'How requests are checked: token (default), hmac (HMAC-SHA256 of the body, in hexadecimal, in the header `secretHeaderName`), standard (Standard Webhooks), or as github, slack, stripe, linear and telegram sign.',
    ),
  idempotencyField: textField
    .max(256, { error: ID_PATH_ERROR })
    .regex(/^[^.]+(\.[^.]+)*$/, { error: ID_PATH_ERROR })
    .optional()
    .describe(
      'Path of the id of the delivery in the payload, such as event.id. A second delivery with this id starts no run.',
    ),
  verifyTestEvents: booleanField
    .optional()
    .describe(
      'Whether requests without a payload, with which some senders test the URL, are answered with success without a check of their signature, and start no run. Default: no.',
    ),
  responseMode: z
    .enum(['default', 'custom', 'wait'], { error: 'one of default, custom, wait' })
    .default('default')
    .describe(
      'The response: default (the id of the run, immediately), custom (`responseStatusCode` and `responseBody`, immediately), or wait (the response of the Response block, when the run has ended).',
    ),
  responseStatusCode: integerField(200, 599, 'a status from 200 to 599')
    .optional()
    .describe('custom: the status of the response, from 200 to 599. Default: 200.'),
  responseBody: z.json().optional().describe('custom: the JSON body of the response.'),
  inputFormat: z
    .json()
    .optional()
    .describe('The fields of the payload, with types and defaults; `file[]` for files.'),
  triggerPath: path,
});

const gitHubName = textField
  .regex(/^(?!\.{1,2}$)[\w.-]{1,100}$/, { error: 'a valid GitHub name' })
  .optional();

/** The fields of a webhook of a provider. */
export const providerFields = z.object({
  webhookSecret: secret.optional().describe('The secret with which the provider signs. Use {{NAME}}.'),
  signingSecret: secret.optional().describe('slack: the signing secret of the app. Use {{NAME}}.'),
  secretCredential,
  triggerCredentials: credentialField.describe(
    'github, stripe, linear, telegram: the stored credential with which the webhook is created at the provider.',
  ),
  credential: credentialField.describe('The same as triggerCredentials.'),
  owner: gitHubName.describe('github: the owner of the repository, a user or an organization.'),
  repo: gitHubName.describe('github: the repository in which the webhook is created.'),
  teamId: textField
    .regex(/^[\w-]{1,128}$/, { error: 'the id of a team' })
    .optional()
    .describe('linear: the id of the team whose events are sent. Default: all public teams.'),
  selectedTriggerId: textField
    .max(128, { error: 'the id of an event' })
    .optional()
    .describe('The event that starts runs, such as github_pr_opened.'),
  eventTypes: z
    .union(
      [
        z.array(z.string().max(128, { error: EVENTS_ERROR })).max(500, { error: EVENTS_ERROR }),
        z.string().max(64_000, { error: EVENTS_ERROR }),
      ],
      { error: EVENTS_ERROR },
    )
    .optional()
    .describe('stripe: the events that start runs. Default: all.'),
  triggerPath: path,
});

/** Providers whose requests are always signed. */
const ALWAYS_SIGNED_PROVIDERS: ReadonlySet<ProviderName> = new Set(['slack', 'stripe', 'linear']);
const UNSIGNED_WARNING = 'is empty, so anyone who knows the URL of the webhook can start runs';

type ParsedWebhookConfig =
  | { config: WebhookConfig; warnings?: readonly TriggerProblem[] }
  | { problems: readonly TriggerProblem[] };

/** Returns the webhook that the fields of a block describe, or all problems. */
export function parseWebhookConfig(provider: ProviderName, block: JsonObject): ParsedWebhookConfig {
  return provider === 'generic' ? parseGenericConfig(block) : parseProviderConfig(provider, block);
}

function parseGenericConfig(block: JsonObject): ParsedWebhookConfig {
  const parsed = genericFields.safeParse(withTriggerConfig(block));
  if (!parsed.success) return { problems: problemsOf(parsed.error) };
  const { requireAuth, secretHeaderName, signatureScheme, idempotencyField, ...fields } = parsed.data;
  const secrets = secretsOf(fields.token, fields.secretCredential);
  const problems = genericProblems(parsed.data, secrets !== undefined);
  if (problems.length > 0) return { problems };
  const isChecked = requireAuth !== false && secrets !== undefined;
  const config: WebhookConfig = {
    provider: 'generic',
    check: isChecked ? signatureScheme : 'none',
    ...(isChecked && { ...secrets, ...(secretHeaderName !== undefined && { header: secretHeaderName }) }),
    ...(idempotencyField !== undefined && { idField: idempotencyField }),
    ...(fields.verifyTestEvents === true && { answersTests: true as const }),
    ...pathOf(fields.triggerPath),
    ...replyOf(fields),
    fileFields: fileFieldsOf(fields.inputFormat),
  };
  return isChecked ? { config } : { config, warnings: [{ field: 'token', message: UNSIGNED_WARNING }] };
}

function genericProblems(
  { requireAuth, signatureScheme, secretHeaderName }: z.output<typeof genericFields>,
  hasSecrets: boolean,
): TriggerProblem[] {
  const problems: TriggerProblem[] = [];
  if (requireAuth === true && !hasSecrets)
    problems.push({ field: 'token', message: 'is empty, and requireAuth needs it' });
  if (signatureScheme === 'hmac' && secretHeaderName === undefined)
    problems.push({ field: 'secretHeaderName', message: 'is empty, and hmac needs it' });
  return problems;
}

function parseProviderConfig(
  provider: Exclude<ProviderName, 'generic'>,
  block: JsonObject,
): ParsedWebhookConfig {
  const parsed = providerFields.safeParse(withTriggerConfig(block));
  if (!parsed.success) return { problems: problemsOf(parsed.error) };
  const secretField = provider === 'slack' ? 'signingSecret' : 'webhookSecret';
  const { [secretField]: secretText, triggerPath } = parsed.data;
  const secrets = secretsOf(secretText, parsed.data.secretCredential);
  const hook = canRegisterWebhooks(provider) ? registrationOf(parsed.data) : undefined;
  const problems = providerProblems(provider, parsed.data, {
    hook,
    hasSecrets: secrets !== undefined,
    secretField,
  });
  if (problems.length > 0) return { problems };
  const isSigned = secrets !== undefined || hook !== undefined;
  const events = eventsOf(provider, parsed.data) ?? [];
  const config: WebhookConfig = {
    ...{ provider, check: isSigned ? provider : 'none', ...secrets },
    ...(hook && { hook }),
    ...pathOf(triggerPath),
    ...(events.length > 0 && { events }),
    ...{ reply: 'now', fileFields: [] },
  };
  return isSigned ? { config } : { config, warnings: [{ field: secretField, message: UNSIGNED_WARNING }] };
}

function providerProblems(
  provider: Exclude<ProviderName, 'generic'>,
  fields: z.output<typeof providerFields>,
  {
    hook,
    hasSecrets,
    secretField,
  }: { hook: RegistrationConfig | undefined; hasSecrets: boolean; secretField: string },
): TriggerProblem[] {
  const problems: TriggerProblem[] = [];
  if (eventsOf(provider, fields) === undefined)
    problems.push({ field: 'selectedTriggerId', message: `is not an event of ${provider}` });
  if (!hasSecrets && !hook && ALWAYS_SIGNED_PROVIDERS.has(provider))
    problems.push({
      field: secretField,
      message: `is empty: without it, requests from ${provider} cannot be checked`,
    });
  if (hook && provider === 'github')
    for (const name of ['owner', 'repo'] as const)
      if (hook[name] === undefined)
        problems.push({
          field: name,
          message: 'is empty: it names the repository in which the webhook is created',
        });
  return problems;
}

/** Returns the secrets of a webhook; undefined if it has none. */
function secretsOf(
  secretText: string | undefined,
  credentialId: string | undefined,
): Pick<WebhookConfig, 'secret' | 'secretCredential'> | undefined {
  if (secretText === undefined && credentialId === undefined) return undefined;
  return {
    ...(secretText !== undefined && { secret: secretText }),
    ...(credentialId !== undefined && { secretCredential: credentialId }),
  };
}

function registrationOf({
  triggerCredentials,
  credential: id = triggerCredentials,
  owner,
  repo,
  teamId,
}: z.output<typeof providerFields>): RegistrationConfig | undefined {
  if (id === undefined) return undefined;
  return {
    credential: id,
    ...(owner !== undefined && { owner }),
    ...(repo !== undefined && { repo }),
    ...(teamId !== undefined && { teamId }),
  };
}

/** Returns the events that start runs: an empty list means all. Undefined if the provider lacks the selected event. */
function eventsOf(
  provider: ProviderName,
  { selectedTriggerId: event, eventTypes }: z.output<typeof providerFields>,
): string[] | undefined {
  const { isKnownEvent } = PROVIDERS[provider] as WebhookProvider;
  if (!isKnownEvent) return parseList(eventTypes);
  return event === undefined || isKnownEvent(event) ? parseList(event) : undefined;
}

function pathOf(value: string | undefined): { path?: string } {
  return value === undefined ? {} : { path: value };
}

function replyOf({
  responseMode,
  responseStatusCode: status = 200,
  responseBody: body,
}: Pick<z.output<typeof genericFields>, 'responseMode' | 'responseStatusCode' | 'responseBody'>): Pick<
  WebhookConfig,
  'reply' | 'status' | 'body'
> {
  if (responseMode === 'wait') return { reply: 'run' };
  if (responseMode === 'default') return { reply: 'now' };
  const json = typeof body === 'string' ? (parseJson(body) ?? body) : body;
  return { reply: 'json', status, ...(json !== undefined && { body: json as Json }) };
}

function fileFieldsOf(format: unknown): string[] {
  return inputFields(format as Json)
    .filter(({ type }) => type === 'file[]')
    .map(({ name }) => name);
}
