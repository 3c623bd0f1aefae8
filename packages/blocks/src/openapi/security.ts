import { getOwn } from '@heddle/core/blocks';
import type { Json, JsonObject } from '@heddle/core/blocks';
import { resolve, UnsupportedDocumentError } from './document.ts';
import type { OpenApiDocument } from './document.ts';
import { objectOrEmpty, trimmedTextOrEmpty } from './operations.ts';
import type { Operation, ParameterLocation } from './operations.ts';

/** How one part of a credential is sent. */
export type Scheme =
  | { type: 'bearer'; scopes: string[] }
  | { type: 'basic' }
  | { type: 'key'; in: Exclude<ParameterLocation, 'path'>; name: string };

/** The security of an operation. */
export interface Security {
  /** The schemes by their names in the document. If there are several, the credential is a JSON object of keys. */
  schemes: { [name: string]: Scheme };
  /** True: the operation can also be called without a credential. */
  isOptional: boolean;
}

const HEADER = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/;
const MAX_SCOPES = 50;
const MAX_SCHEMES = 5;

/**
 * Returns the security of an operation: of the alternatives that Heddle can send, the one with the fewest credentials.
 *
 * Throws UnsupportedDocumentError if there is none.
 */
export function securityOf(document: OpenApiDocument, { security }: Pick<Operation, 'security'>): Security {
  const reasons: string[] = [];
  const usableAlternatives: Security['schemes'][] = [];
  for (const alternative of security ?? []) {
    const schemes = readAlternative(document, alternative);
    if (typeof schemes === 'string') reasons.push(schemes);
    else usableAlternatives.push(schemes);
  }
  const isOptional = usableAlternatives.some((schemes) => schemeCount(schemes) === 0);
  const [fewestSchemes] = usableAlternatives
    .filter((schemes) => schemeCount(schemes) > 0)
    .toSorted((a, b) => schemeCount(a) - schemeCount(b));
  if (fewestSchemes || isOptional || reasons.length === 0)
    return { schemes: fewestSchemes ?? {}, isOptional: isOptional || !fewestSchemes };
  throw new UnsupportedDocumentError([...new Set(reasons)].join('; ').slice(0, 300));
}

const schemeCount = (schemes: Security['schemes']): number => Object.keys(schemes).length;

/**
 * Returns the schemes of an alternative, or why it cannot be used. OAuth flows that are needed together share one
 * token.
 */
function readAlternative(document: OpenApiDocument, alternative: JsonObject): Security['schemes'] | string {
  const names = Object.keys(alternative);
  if (names.length > MAX_SCHEMES) return `needs ${names.length} credentials at the same time`;
  const schemes: Security['schemes'] = {};
  for (const name of names) {
    const scheme = readScheme(document, name, alternative[name]);
    if (typeof scheme === 'string') return scheme;
    const earlierSchemes = Object.values(schemes);
    const bearerScheme = earlierSchemes.find(({ type }) => type === 'bearer');
    const isAtSameLocation = (other: Scheme): boolean =>
      scheme.type === 'key' && other.type === 'key' && locationOf(other) === locationOf(scheme);
    if (earlierSchemes.some(isAtSameLocation)) continue;
    if (scheme.type === 'bearer' && bearerScheme?.type === 'bearer')
      bearerScheme.scopes = [...new Set([...bearerScheme.scopes, ...scheme.scopes])];
    else schemes[name] = scheme;
  }
  const locations = Object.values(schemes).map((scheme) =>
    scheme.type === 'key' ? locationOf(scheme) : 'header authorization',
  );
  return new Set(locations).size === locations.length ? schemes : 'needs two credentials in one header';
}

/** Returns the scheme, or why it cannot be used. */
function readScheme(document: OpenApiDocument, name: string, scopes: Json | undefined): Scheme | string {
  const scheme = resolve(document, getOwn(schemesOf(document), name))?.object;
  if (!scheme) return `needs the credential "${name.slice(0, 100)}", which the document does not describe`;
  const type = getOwn(scheme, 'type');
  if (type === 'oauth2' || type === 'openIdConnect') {
    const requiredScopes = Array.isArray(scopes) ? scopes.slice(0, MAX_SCOPES) : [];
    const isScope = (scope: Json): scope is string => typeof scope === 'string' && scope.length <= 200;
    return { type: 'bearer', scopes: requiredScopes.filter(isScope) };
  }
  if (type === 'http') return httpScheme(trimmedTextOrEmpty(getOwn(scheme, 'scheme')).toLowerCase());
  if (type === 'apiKey')
    return apiKeyScheme(scheme) ?? 'needs a key without a name, or in an unknown location';
  return `needs a credential of the type ${trimmedTextOrEmpty(type).slice(0, 100)}`;
}

function httpScheme(scheme: string): Scheme | string {
  if (scheme === 'bearer') return { type: 'bearer', scopes: [] };
  return scheme === 'basic'
    ? { type: 'basic' }
    : `needs HTTP authentication with the scheme ${scheme.slice(0, 100)}`;
}

function apiKeyScheme(scheme: JsonObject): Extract<Scheme, { type: 'key' }> | undefined {
  const name = getOwn(scheme, 'name');
  const location = (['header', 'query', 'cookie'] as const).find(
    (candidate) => candidate === getOwn(scheme, 'in'),
  );
  if (typeof name !== 'string' || !location || name === '') return undefined;
  return location !== 'query' && !HEADER.test(name) ? undefined : { type: 'key', in: location, name };
}

/**
 * Returns the locations of API keys in requests, such as `header x-api-key`. Parameters at these locations are not
 * arguments: a model must not choose or replace a credential.
 */
export function apiKeyLocations(document: OpenApiDocument): Set<string> {
  const locations = new Set<string>();
  for (const value of Object.values(schemesOf(document))) {
    try {
      const key = apiKeyScheme(resolve(document, value)?.object ?? {});
      if (key) locations.add(locationOf(key));
    } catch (error) {
      if (!(error instanceof UnsupportedDocumentError)) throw error;
    }
  }
  return locations;
}

/** Returns the location and name of a parameter as one string, which is equal for names that servers treat as equal. */
export function locationOf({ in: location, name }: { in: string; name: string }): string {
  return `${location} ${location === 'header' ? name.toLowerCase() : name}`;
}

function schemesOf({ root }: OpenApiDocument): JsonObject {
  return objectOrEmpty(getOwn(objectOrEmpty(getOwn(root, 'components')), 'securitySchemes'));
}
