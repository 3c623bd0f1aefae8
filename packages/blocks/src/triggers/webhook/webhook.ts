import { createHash } from 'node:crypto';
import type { TriggerInfo } from '@heddle/core/drafts';
import { isJsonObject } from '@heddle/core/blocks';
import type { Json, JsonObject } from '@heddle/core/blocks';
import * as z from 'zod';
import { flowControlFields } from '../flow-control.ts';
import type { ParsedDelivery, UnverifiedDelivery, WebhookAction, WebhookReply } from './delivery.ts';
import { genericFields, providerFields, parseWebhookConfig } from './fields.ts';
import type { WebhookConfig } from './fields.ts';
import { webhookRegistrar } from './registrations/webhook-registrar.ts';
import type { WebhookRegistrar } from '@heddle/engine/triggers';
import { PROVIDERS, stringAt } from './providers.ts';
import type { WebhookProvider, ProviderName } from './providers.ts';
import { bodyHmacScheme, SCHEMES, signatureProblem, tokenScheme } from './signatures.ts';
import type { SignatureScheme } from './signatures.ts';

/** A type of trigger that is fired by requests from another system. Its configuration is plain JSON. */
export interface WebhookTrigger extends TriggerInfo {
  kind: 'webhook';
  /** Returns the sending system, such as `github`. */
  providerOf(config: JsonObject): string;
  /** Returns the path that the author has chosen; undefined: a random path is generated. */
  pathOf(config: JsonObject): string | undefined;
  /** Returns whether requests must have a token or a signature. */
  isSigned(config: JsonObject): boolean;
  /** Returns the secret in the block: text, or `{{NAME}}`; undefined if the block has none. */
  secretOf(config: JsonObject): string | undefined;
  /** Returns the id of the stored credential that is the secret; undefined if there is none. */
  secretCredentialOf(config: JsonObject): string | undefined;
  /** Registers the webhook at the provider, and removes the registration. */
  registrar: WebhookRegistrar;
  /** Returns whether requests with this method are deliveries. */
  accepts(config: JsonObject, method: string): boolean;
  /** Returns whether a request only tests the URL. Such a request is answered with success and starts no run. */
  isTest(config: JsonObject, body: Uint8Array): boolean;
  /** Returns the code of the problem if the request is not authentic. */
  verificationProblemOf(config: JsonObject, delivery: UnverifiedDelivery): string | undefined;
  /** Returns how to treat an authentic request. */
  actionFor(config: JsonObject, delivery: ParsedDelivery): WebhookAction;
}

const configOf = (config: JsonObject): WebhookConfig => config as unknown as WebhookConfig;

/** The provider of each block type. */
const PROVIDER_BY_TYPE: { readonly [type: string]: ProviderName } = {
  generic_webhook: 'generic',
  github: 'github',
  github_v2: 'github',
  slack: 'slack',
  stripe: 'stripe',
  linear: 'linear',
  linear_v2: 'linear',
  telegram: 'telegram',
  circleback: 'circleback',
};

/** The trigger types that are fired by requests from other systems. */
export const webhookTriggers: readonly WebhookTrigger[] = [
  ...Object.entries(PROVIDER_BY_TYPE).map(([type, provider]) => createWebhookTrigger(type, () => provider)),
  createWebhookTrigger('webhook', ({ webhookProvider: name }) => providerFromName(name)),
];

/** Returns the provider that an older block (type `webhook`) names; `generic` (any sender) if the name is unknown. */
function providerFromName(name: Json | undefined): ProviderName {
  return typeof name === 'string' && Object.hasOwn(PROVIDERS, name) ? (name as ProviderName) : 'generic';
}

function createWebhookTrigger(
  type: string,
  providerFor: (fields: JsonObject) => ProviderName,
): WebhookTrigger {
  return {
    kind: 'webhook',
    type,
    parseConfig: (fields) =>
      parseWebhookConfig(providerFor(fields), fields) as ReturnType<TriggerInfo['parseConfig']>,
    providerOf: (config) => configOf(config).provider,
    pathOf: (config) => configOf(config).path,
    isSigned: (config) => configOf(config).check !== 'none',
    secretOf: (config) => configOf(config).secret,
    secretCredentialOf: (config) => configOf(config).secretCredential,
    registrar: webhookRegistrar,
    accepts: (config, method) =>
      method === 'POST' || (method === 'GET' && configOf(config).provider === 'generic'),
    isTest: (config, body) => configOf(config).answersTests === true && isEmptyBody(body),
    verificationProblemOf(config, { secrets, ...request }) {
      const scheme = schemeOf(configOf(config));
      return scheme && signatureProblem(scheme, secrets, request);
    },
    actionFor: (config, delivery) => webhookAction(configOf(config), delivery),
  };
}

/** Maximum number of bytes, including white space, of a body that counts as empty. */
const MAX_EMPTY_BYTES = 64;

/** Returns true for an absent body, and for an empty JSON object. */
function isEmptyBody(body: Uint8Array): boolean {
  if (body.byteLength > MAX_EMPTY_BYTES) return false;
  return /^\s*(?:\{\s*\})?\s*$/.test(new TextDecoder().decode(body));
}

/** Returns how requests are checked; undefined if they are not checked. */
function schemeOf({ check, header }: WebhookConfig): SignatureScheme | undefined {
  if (check === 'none') return undefined;
  if (check === 'token') return tokenScheme(header);
  if (check === 'hmac') return bodyHmacScheme(header ?? '');
  return SCHEMES[check];
}

function webhookAction(config: WebhookConfig, delivery: ParsedDelivery): WebhookAction {
  const provider: WebhookProvider = PROVIDERS[config.provider];
  // If a generic webhook uses the signature scheme of a provider, that provider is the sender.
  const signer: WebhookProvider = Object.hasOwn(PROVIDERS, config.check)
    ? PROVIDERS[config.check as ProviderName]
    : provider;
  const handshakeBody = signer.handshakeBodyOf?.(delivery);
  if (handshakeBody !== undefined) return { kind: 'handshake', body: handshakeBody };
  const event = signer.eventOf?.(delivery);
  if (config.events && provider.matchesEvents && !provider.matchesEvents(config.events, delivery))
    return { kind: 'ignored', event: event ?? '' };
  const { idField } = config;
  const deliveryId =
    idField === undefined ? signer.deliveryIdOf(delivery) : stringAt(delivery.payload, ...idField.split('.'));
  return {
    kind: 'event',
    ...(deliveryId !== undefined && { deliveryId: toStorableId(deliveryId) }),
    ...(event !== undefined && { event: event.slice(0, MAX_EVENT_CHARS) }),
    input: inputOf(config, delivery),
    reply: replyOf(config),
  };
}

const MAX_EVENT_CHARS = 128;

/** Returns the id of a delivery, or its hash if it is long or has unusual characters. */
function toStorableId(id: string): string {
  if (/^[\x21-\x7e]{1,200}$/.test(id)) return id;
  return `sha256:${createHash('sha256').update(id).digest('hex')}`;
}

function replyOf({ reply, status = 200, body = null }: WebhookConfig): WebhookReply {
  return reply === 'json' ? { kind: 'json', status, body } : { kind: reply };
}

function inputOf(config: WebhookConfig, delivery: ParsedDelivery): JsonObject {
  const { payload } = delivery;
  const body = isJsonObject(payload) ? payload : payload === null ? {} : { input: payload };
  const provider = PROVIDERS[config.provider] as WebhookProvider;
  if (config.provider !== 'generic') return provider.inputOf?.(body, delivery) ?? body;
  const { headers, query } = delivery;
  return { headers: visibleHeaders(config, headers), query, ...body, ...filesOf(config, delivery) };
}

/** Headers that can contain a credential. */
const CREDENTIAL_HEADER = /auth|cookie|secret|token|key|signature|password|session|jwt|credential/;
const NON_CREDENTIAL_HEADERS: ReadonlySet<string> = new Set(['idempotency-key']);

/** Returns the headers, except those that can contain a credential. */
function visibleHeaders({ header }: WebhookConfig, headers: Headers): JsonObject {
  const secretHeader = header?.toLowerCase();
  return Object.fromEntries(
    [...headers].filter(
      ([name]) =>
        name !== secretHeader && (NON_CREDENTIAL_HEADERS.has(name) || !CREDENTIAL_HEADER.test(name)),
    ),
  );
}

/**
 * Returns the files by field. Files in declared fields have their content, which the engine stores. Files in other
 * fields have only their name, type and size.
 */
function filesOf({ fileFields }: WebhookConfig, { files }: ParsedDelivery): JsonObject {
  const byField = Map.groupBy(files, ({ field }) => field);
  return Object.fromEntries(
    [...byField].map(([field, fieldFiles]) => [
      field,
      fieldFiles.map(({ name, type, bytes }): JsonObject => {
        if (!fileFields.includes(field)) return { name, mime: type, size: bytes.byteLength };
        const data = `data:${type};base64,${Buffer.from(bytes).toString('base64')}`;
        return { type: 'file', name, data };
      }),
    ]),
  );
}

/** The description, fields and outputs of the block, for the documentation and for workflow editors. */
export const webhookSchema = {
  summary: 'Starts a run when another system sends a request to its URL.',
  fields: genericFields.extend(flowControlFields),
  outputs: z.object({
    headers: z.record(z.string(), z.string()).describe('The headers of the request, without credentials.'),
    query: z.record(z.string(), z.json()).describe('The query parameters of the URL.'),
  }),
};

/** The description, fields and outputs of a Circleback block. */
export const circlebackSchema = {
  summary: 'Starts a run when an automation of Circleback sends a meeting to its URL.',
  fields: providerFields
    .pick({ webhookSecret: true, secretCredential: true, selectedTriggerId: true, triggerPath: true })
    .extend(flowControlFields),
  outputs: z.object({
    id: z.number().describe('The id of the meeting at Circleback.'),
    name: z.string().describe('The name of the meeting.'),
    createdAt: z.string().describe('When the meeting was created, in ISO 8601.'),
    duration: z.number().describe('Duration in seconds.'),
    url: z.string().nullable().describe('The URL of the online meeting.'),
    recordingUrl: z.string().nullable().optional().describe('The URL of the recording, valid for 24 hours.'),
    tags: z.array(z.string()).optional().describe('The tags of the meeting.'),
    icalUid: z.string().nullable().optional().describe('The id of the event in the calendar.'),
    attendees: z.array(z.json()).describe('People, each with name and email.'),
    notes: z.string().optional().describe('The notes, in Markdown.'),
    actionItems: z.array(z.json()).optional().describe('Tasks with title, description, assignee and status.'),
    transcript: z
      .array(z.json())
      .optional()
      .describe('The parts of the transcript, each with speaker, text and timestamp.'),
    insights: z.json().optional().describe('The insights, by name.'),
  }),
};
