import { type Marker, parseMarker } from './marker.ts';
import { canonicalName } from './names.ts';
import { parseSpecifier, type Specifier } from './version.ts';

/** A parsed requirement (PEP 508). */
export interface Requirement {
  /** The original text, for messages. */
  readonly text: string;
  /** Canonical name. */
  readonly name: string;
  /** Canonical and sorted. */
  readonly extras: readonly string[];
  readonly specifier: Specifier;
  readonly marker?: Marker;
  /** The URL of `name @ URL`; such requirements are never installed. */
  readonly url?: string;
}

const REQUIREMENT =
  /^\s*([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*(?:\[([^\]]*)\])?\s*(?:@\s*(\S+)|\(([^)]*)\)|([^;]*))?\s*(?:;(.*))?$/s;

const EXTRA = /^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/;

/** Parses a requirement; undefined if invalid. */
export function parseRequirement(text: string): Requirement | undefined {
  const [, name, extrasText, url, parenthesizedSpecifier, bareSpecifier, markerText] =
    REQUIREMENT.exec(text) ?? [];
  if (name === undefined) return undefined;
  const extras = parseExtras(extrasText);
  const specifier = parseSpecifier((parenthesizedSpecifier ?? bareSpecifier ?? '').trim());
  const marker = markerText === undefined ? 'none' : parseMarker(markerText);
  if (!extras || !specifier || !marker) return undefined;
  const base = { text: text.trim(), name: canonicalName(name), extras, specifier };
  return { ...base, ...(marker !== 'none' && { marker }), ...(url !== undefined && { url }) };
}

function parseExtras(text: string | undefined): string[] | undefined {
  if (text === undefined || text.trim() === '') return [];
  const extras = text.split(',').map((extra) => extra.trim());
  return extras.every((extra) => EXTRA.test(extra))
    ? [...new Set(extras.map(canonicalName))].sort()
    : undefined;
}
