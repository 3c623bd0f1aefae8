/** What a credential may do at all. */
export type Scope = 'api:read' | 'api:write';

/** What a member may do in a workspace; each includes those before it. */
export type Role = 'read' | 'write' | 'admin';
