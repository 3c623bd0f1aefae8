/** Kinds of resources that a workflow refers to. */
export const KINDS = [
  'credential',
  'env-var',
  'knowledge-base',
  'knowledge-document',
  'table',
  'file',
  'mcp-server',
  'custom-tool',
  'custom-block',
  'skill',
  'sandbox',
  'workflow',
] as const;

export type KindName = (typeof KINDS)[number];

/** A field that may have ids of a kind: a sub-block, or a parameter of an agent's tool. */
export interface ReferenceField {
  /** Type of the block, or of the tool. */
  ownerType: string;
  key: string;
  /** Type of the sub-block; '' inside a tool. */
  type: string;
}

/** The rules of exports and imports for a kind. */
export interface ReferenceKind {
  kind: KindName;
  /** True if the field has ids of this kind. Never for `env-var`, whose names are parts of strings. */
  accepts: (field: ReferenceField) => boolean;
  /** True if a block cannot run without the reference. */
  isRequired?: (field: ReferenceField) => boolean;
  /**
   * When exports clear the reference: `always`, or unless the bindings of the workspace are requested. Absent: never.
   */
  clearedByExport?: 'always' | 'without-bindings';
  /** How a caller finds targets. */
  lookupHint: { command: string; humanAuthorizationMayBeRequired: boolean };
}

/** Returns whether the values of the field are chosen from a list, not typed. */
export function isChosenFromList({ key, type }: ReferenceField): boolean {
  return type === 'oauth-input' || type.endsWith('-selector') || (type === '' && !key.startsWith('manual'));
}

const MCP_TYPES: ReadonlySet<string> = new Set(['mcp', 'mcp-server', 'mcp-server-advanced']);
const WORKFLOW_TYPES: ReadonlySet<string> = new Set(['workflow', 'workflow_input']);
const TABLE_TYPES: ReadonlySet<string> = new Set(['table', 'table_v2']);

/** Returns a command that lists the resources of a workspace. */
function listCommand(path: string, humanAuthorizationMayBeRequired = false) {
  return { command: `GET /api/v2/${path}`, humanAuthorizationMayBeRequired };
}

/** All kinds. A parameter of a tool has no type, so its key and the type of its tool determine its kind. */
export const REFERENCE_KINDS: readonly ReferenceKind[] = [
  {
    kind: 'credential',
    accepts: ({ key, type }) =>
      type === 'oauth-input' || type === 'credential-selector' || /^(?:\w+C|c)redential(?:s|Id)?$/.test(key),
    clearedByExport: 'always',
    lookupHint: listCommand('credentials?workspaceId={workspaceId}', true),
  },
  { kind: 'env-var', accepts: () => false, lookupHint: listCommand('secrets?workspaceId={workspaceId}') },
  {
    kind: 'knowledge-base',
    accepts: ({ key, type }) =>
      type === 'knowledge-base-selector' || /^knowledgeBase(?:Ids?|Selector)$/.test(key),
    isRequired: ({ ownerType }) => ownerType === 'knowledge',
    clearedByExport: 'without-bindings',
    lookupHint: listCommand('knowledge?workspaceId={workspaceId}'),
  },
  {
    kind: 'knowledge-document',
    accepts: ({ ownerType, key, type }) =>
      type === 'document-selector' || (ownerType === 'knowledge' && /^document(?:Ids?|Selector)$/.test(key)),
    clearedByExport: 'without-bindings',
    lookupHint: listCommand('knowledge/{knowledgeBaseId}/documents?workspaceId={workspaceId}'),
  },
  {
    kind: 'table',
    accepts: ({ ownerType, key, type }) =>
      type === 'table-selector' || (TABLE_TYPES.has(ownerType) && /^table(?:Id|Selector)$/.test(key)),
    isRequired: ({ ownerType }) => TABLE_TYPES.has(ownerType),
    clearedByExport: 'without-bindings',
    lookupHint: listCommand('tables?workspaceId={workspaceId}'),
  },
  {
    kind: 'file',
    accepts: ({ type }) => type === 'file-upload',
    clearedByExport: 'without-bindings',
    lookupHint: listCommand('files?workspaceId={workspaceId}'),
  },
  {
    kind: 'mcp-server',
    accepts: ({ ownerType, key, type }) =>
      type === 'mcp-server-selector' ||
      (MCP_TYPES.has(ownerType) && (key === 'serverId' || key === 'server')),
    isRequired: ({ ownerType }) => ownerType === 'mcp',
    lookupHint: listCommand('mcp-servers?workspaceId={workspaceId}', true),
  },
  {
    kind: 'custom-tool',
    accepts: ({ key }) => key === 'customToolId',
    lookupHint: listCommand('custom-tools?workspaceId={workspaceId}'),
  },
  {
    kind: 'custom-block',
    accepts: ({ key, type }) => key === 'customBlockId' || type === 'custom-block',
    isRequired: () => true,
    lookupHint: listCommand('catalog/blocks?workspaceId={workspaceId}'),
  },
  {
    kind: 'skill',
    accepts: ({ key }) => key === 'skillId',
    lookupHint: listCommand('skills?workspaceId={workspaceId}'),
  },
  {
    kind: 'sandbox',
    accepts: ({ key, type }) => type === 'sandbox-selector' || key === 'sandboxId',
    lookupHint: listCommand('sandboxes?workspaceId={workspaceId}'),
  },
  {
    kind: 'workflow',
    accepts: ({ ownerType, key, type }) =>
      type === 'workflow-selector' || (WORKFLOW_TYPES.has(ownerType) && key === 'workflowId'),
    isRequired: ({ ownerType }) => WORKFLOW_TYPES.has(ownerType),
    clearedByExport: 'without-bindings',
    lookupHint: listCommand('workflows?workspaceId={workspaceId}'),
  },
];
