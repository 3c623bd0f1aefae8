import { isJsonObject, getOwn } from '@heddle/core/blocks';
import type { Json, JsonObject } from '@heddle/core/blocks';
import type { ParsedDelivery } from './delivery.ts';

/** How the deliveries of a provider are read. */
export interface WebhookProvider {
  /** Returns the provider's id of the delivery; undefined if it has none. */
  deliveryIdOf: (delivery: ParsedDelivery) => string | undefined;
  /** Returns the name of the event; undefined if it has none. */
  eventOf?: (delivery: ParsedDelivery) => string | undefined;
  /** Returns the body of the response to a request that only tests the URL; undefined for events. */
  handshakeBodyOf?: (delivery: ParsedDelivery) => Json | undefined;
  /** Returns the input of the run. Default: the payload. */
  inputOf?: (payload: JsonObject, delivery: ParsedDelivery) => JsonObject;
  /** Returns whether the event starts runs of a trigger with these `events`. Default: every event does. */
  matchesEvents?: (events: readonly string[], delivery: ParsedDelivery) => boolean;
  /** Returns whether `events` may contain this name. Default: any name. */
  isKnownEvent?: (event: string) => boolean;
}

/** Returns the value at a path of the payload; undefined if there is none. */
function valueAt(payload: Json, ...path: readonly string[]): Json | undefined {
  let value: Json | undefined = payload;
  for (const key of path) {
    if (Array.isArray(value)) value = /^\d{1,6}$/.test(key) ? value[Number(key)] : undefined;
    else value = isJsonObject(value) ? getOwn(value, key) : undefined;
  }
  return value;
}

/** Returns a non-empty string of the payload, or a number converted to a string; undefined for any other value. */
export function stringAt(payload: Json, ...path: readonly string[]): string | undefined {
  const value = valueAt(payload, ...path);
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Returns a function that returns this header of a delivery. */
const headerReader =
  (name: string) =>
  ({ headers }: ParsedDelivery): string | undefined =>
    headers.get(name) || undefined;

interface GitHubEvent {
  event: string;
  action?: string;
  /** Further conditions on the payload. */
  condition?: (payload: Json) => boolean;
}

const isMerged = (payload: Json): boolean => valueAt(payload, 'pull_request', 'merged') === true;
const isOnPullRequest = (payload: Json): boolean =>
  isJsonObject(valueAt(payload, 'issue', 'pull_request') ?? null);

/** The events of GitHub by the names that blocks use. */
const GITHUB_EVENTS: { readonly [name: string]: GitHubEvent } = {
  github_push: { event: 'push' },
  github_pr_opened: { event: 'pull_request', action: 'opened' },
  github_pr_closed: { event: 'pull_request', action: 'closed', condition: (payload) => !isMerged(payload) },
  github_pr_merged: { event: 'pull_request', action: 'closed', condition: isMerged },
  github_pr_comment: { event: 'issue_comment', action: 'created', condition: isOnPullRequest },
  github_pr_reviewed: { event: 'pull_request_review', action: 'submitted' },
  github_issue_opened: { event: 'issues', action: 'opened' },
  github_issue_closed: { event: 'issues', action: 'closed' },
  github_issue_comment: {
    event: 'issue_comment',
    action: 'created',
    condition: (payload) => !isOnPullRequest(payload),
  },
  github_release_published: { event: 'release', action: 'published' },
  github_workflow_run: { event: 'workflow_run' },
};

/** Returns the GitHub events that a registration must subscribe to, for the events that start runs. */
export function gitHubEventsOf(names: readonly string[] | undefined): string[] {
  const events = (names ?? ['github_webhook']).map((name) =>
    Object.hasOwn(GITHUB_EVENTS, name) ? (GITHUB_EVENTS[name] as GitHubEvent).event : '*',
  );
  return events.includes('*') ? ['*'] : [...new Set(events)];
}

const gitHubEventHeader = headerReader('x-github-event');

const github: WebhookProvider = {
  deliveryIdOf: headerReader('x-github-delivery'),
  eventOf: (delivery) => {
    const action = stringAt(delivery.payload, 'action');
    const event = gitHubEventHeader(delivery);
    return event !== undefined && action !== undefined ? `${event}.${action}` : event;
  },
  handshakeBodyOf: (delivery) => (gitHubEventHeader(delivery) === 'ping' ? { ok: true } : undefined),
  inputOf: (payload, delivery) => ({ ...payload, event_type: gitHubEventHeader(delivery) ?? null }),
  isKnownEvent: (name) => name === 'github_webhook' || Object.hasOwn(GITHUB_EVENTS, name),
  matchesEvents: (names, delivery) =>
    names.some((name) => {
      if (name === 'github_webhook') return true;
      const { event, action, condition = () => true } = GITHUB_EVENTS[name] as GitHubEvent;
      const { payload } = delivery;
      const isMatchingAction = action === undefined || stringAt(payload, 'action') === action;
      return gitHubEventHeader(delivery) === event && isMatchingAction && condition(payload);
    }),
};

/** Maximum number of characters of the challenge from Slack that the response repeats. */
const MAX_CHALLENGE_CHARS = 1000;

const slack: WebhookProvider = {
  deliveryIdOf: ({ payload }) => stringAt(payload, 'event_id'),
  eventOf: ({ payload }) =>
    stringAt(payload, 'event', 'type') ?? stringAt(payload, 'type') ?? stringAt(payload, 'command'),
  handshakeBodyOf({ payload }) {
    const challenge = stringAt(payload, 'challenge');
    if (valueAt(payload, 'type') !== 'url_verification' || challenge === undefined) return undefined;
    return { challenge: challenge.slice(0, MAX_CHALLENGE_CHARS) };
  },
  inputOf(payload) {
    const event = getOwn(payload, 'event');
    if (!isJsonObject(event)) return payload;
    const fields = { event_type: event['type'], timestamp: event['ts'], team_id: payload['team_id'] };
    const definedFields = Object.entries({ ...fields, event_id: payload['event_id'] }).filter(
      (entry): entry is [string, Json] => entry[1] !== undefined,
    );
    return { ...payload, event: { ...Object.fromEntries(definedFields), ...event } };
  },
};

const stripe: WebhookProvider = {
  deliveryIdOf: ({ payload }) => stringAt(payload, 'id'),
  eventOf: ({ payload }) => stringAt(payload, 'type'),
  matchesEvents: (events, { payload }) => events.includes(stringAt(payload, 'type') ?? ''),
};

const LINEAR_TYPES: { readonly [name: string]: string } = {
  issue: 'Issue',
  comment: 'Comment',
  project: 'Project',
  cycle: 'Cycle',
  label: 'IssueLabel',
  project_update: 'ProjectUpdate',
  customer_request: 'CustomerNeed',
};
const LINEAR_ACTIONS: { readonly [name: string]: string } = {
  created: 'create',
  updated: 'update',
  removed: 'remove',
};

/** Returns the type and the action of an event such as `linear_issue_created`, with or without `_v2`. */
function parseLinearEvent(name: string): { type?: string | undefined; action?: string | undefined } {
  const [, noun = '', verb = ''] = /^linear_(\w+)_(created|updated|removed)(?:_v2)?$/.exec(name) ?? [];
  return { type: LINEAR_TYPES[noun], action: LINEAR_ACTIONS[verb] };
}

/** The names that stand for all events of Linear. */
const LINEAR_WILDCARDS: ReadonlySet<string> = new Set(['linear_webhook', 'linear_webhook_v2']);

/** Returns the resource types of a webhook of Linear, for the events that start runs. */
export function linearTypesOf(names: readonly string[] | undefined): string[] {
  const types = (names ?? ['linear_webhook']).map((name) => parseLinearEvent(name).type);
  const knownTypes = types.filter((type) => type !== undefined);
  return knownTypes.length === types.length ? [...new Set(knownTypes)] : Object.values(LINEAR_TYPES);
}

const linear: WebhookProvider = {
  deliveryIdOf: headerReader('linear-delivery'),
  eventOf: ({ payload }) => {
    const type = stringAt(payload, 'type');
    return type && `${type}.${stringAt(payload, 'action') ?? ''}`;
  },
  isKnownEvent: (name) => LINEAR_WILDCARDS.has(name) || parseLinearEvent(name).type !== undefined,
  matchesEvents: (names, { payload }) =>
    names.some((name) => {
      const { type, action } = parseLinearEvent(name);
      const isMatch = stringAt(payload, 'type') === type && stringAt(payload, 'action') === action;
      return LINEAR_WILDCARDS.has(name) || isMatch;
    }),
};

const TELEGRAM_UPDATE_TYPES = ['message', 'edited_message', 'channel_post', 'callback_query', 'inline_query'];

const telegram: WebhookProvider = {
  deliveryIdOf: ({ payload }) => stringAt(payload, 'update_id'),
  eventOf: ({ payload }) => TELEGRAM_UPDATE_TYPES.find((type) => valueAt(payload, type) !== undefined),
};

const CIRCLEBACK_EVENTS: ReadonlySet<string> = new Set([
  ...['circleback_webhook', 'circleback_meeting_completed', 'circleback_meeting_notes'],
]);

/** Circleback sends meetings. Its automations choose which ones, so the names of events make no difference. */
const circleback: WebhookProvider = {
  // The id in the payload identifies the meeting, not the delivery: a meeting can be sent several times.
  deliveryIdOf: () => undefined,
  isKnownEvent: (name) => CIRCLEBACK_EVENTS.has(name),
};

const standard: WebhookProvider = {
  deliveryIdOf: headerReader('webhook-id'),
  eventOf: ({ payload }) => stringAt(payload, 'type'),
};

/** Any sender, which may send the id of a delivery as `Idempotency-Key`. */
const generic: WebhookProvider = {
  deliveryIdOf: headerReader('idempotency-key'),
};

/** The providers, by name. */
export const PROVIDERS = {
  ...{ generic, github, slack, stripe, linear, telegram, circleback, standard },
} as const satisfies { [name: string]: WebhookProvider };

export type ProviderName = keyof typeof PROVIDERS;
