import type * as z from 'zod';
import { matchesSearch, pageOfItems } from './page.ts';
import type { CatalogPosition } from './page.ts';
import * as schemas from './schemas.ts';

/** How a connector authenticates: with an account of a provider, or with a key. */
export type ConnectorAuth =
  | { mode: 'oauth'; provider: string; requiredScopes?: string[] }
  | {
      mode: 'apiKey';
      label?: string;
      placeholder?: string;
      /** Whether the connector also works without a key. */
      optional: boolean;
    };

/** A field of the configuration of a connector. */
export interface ConnectorField {
  id: string;
  title: string;
  type: 'short-input' | 'dropdown' | 'selector';
  placeholder?: string;
  required?: boolean;
  description?: string;
  options?: { id: string; label: string }[];
  /** The selector that lists the choices. */
  selectorKey?: string;
  mimeType?: string;
  /** Fields that must have a value first. */
  dependsOn?: string[] | { all?: string[]; any?: string[] };
  mode?: 'basic' | 'advanced';
  /** The key in the configuration, if it differs from the id: a picker and its manual input share one key. */
  canonicalParamId?: string;
  /** Whether the value may be an array. */
  multi?: boolean;
}

/** A registered kind of source from which knowledge bases can be filled. */
export interface ConnectorType {
  connectorType: string;
  name: string;
  description: string;
  version: string;
  auth: ConnectorAuth;
  configFields: ConnectorField[];
  /** Whether a synchronization reads only what has changed since the previous one. */
  supportsIncrementalSync: boolean;
  tagDefinitions: { id: string; displayName: string; fieldType: 'text' | 'number' | 'date' | 'boolean' }[];
}

type ConnectorView = z.output<typeof schemas.connectorType>;

export interface ConnectorsQuery {
  search?: string | undefined;
  detail: 'summary' | 'full';
  limit: number;
  afterPosition?: CatalogPosition | undefined;
}

/** The connector types that a host has registered. */
export class ConnectorTypes {
  readonly #types: readonly ConnectorView[];

  /** Throws a RangeError for two types with the same `connectorType`, and for an invalid type. */
  constructor(types: readonly ConnectorType[]) {
    const views = new Map<string, ConnectorView>();
    for (const type of types) {
      const { connectorType } = type;
      if (views.has(connectorType)) throw new RangeError(`There are two connector types "${connectorType}".`);
      views.set(connectorType, toPublicType(type));
    }
    this.#types = [...views.values()];
  }

  /**
   * Returns a page of the types, in the order of their `connectorType`, and the position of its last type if more
   * follow.
   */
  list({ search, detail, limit, afterPosition }: ConnectorsQuery): {
    page: ConnectorView[];
    next: CatalogPosition | undefined;
  } {
    const matchingTypes = this.#types.filter(({ connectorType, name, description }) =>
      matchesSearch(search, [connectorType, name, description]),
    );
    const { page, next } = pageOfItems(
      matchingTypes,
      { sortOrder: 'asc', limit, afterPosition },
      ({ connectorType }) => [connectorType, connectorType],
    );
    return { page: detail === 'full' ? page : page.map(summaryOf), next };
  }
}

/** Returns the public part of a type, without other data of the host. Throws a RangeError for an invalid type. */
function toPublicType(type: ConnectorType): ConnectorView {
  const { data, error } = schemas.registeredConnector.safeParse(type);
  if (data) return data;
  const [issue] = error.issues;
  const problem = issue ? `"${issue.path.join('.')}": ${issue.message}` : error.message;
  throw new RangeError(`The connector type "${type.connectorType}" cannot be used: ${problem}.`);
}

function summaryOf({ connectorType, name, description, auth }: ConnectorView): ConnectorView {
  return { connectorType, name, description, auth: { mode: auth.mode } };
}
