import type { Principal, Role } from '@heddle/api';
import type { PrincipalKind } from '@heddle/api/areas';
import type { Access } from '@heddle/api/ports';
import { describe, expect, it } from 'vitest';

/** An implementation under test, and a function that adds users. */
export interface AccessSetup {
  access: Access;
  workspaceIds: readonly [string, string];
  /** Adds a user with this role in the workspace; without a role, the user is not a member. Returns the id. */
  addUser(workspaceId: string, role?: Role): Promise<string>;
}

const ROLES = ['read', 'write', 'admin'] as const;

function principalOf(userId: string | null, kind: PrincipalKind = 'personal'): Principal {
  const scopes = ['api:write'] as const;
  return { kind, credentialId: 'c', userId, workspaceId: null, scopes, expiresAt: null };
}

/** Tests an implementation of access checks. `open` opens one with two workspaces. */
export function describeAccess(name: string, open: () => Promise<AccessSetup>): void {
  describe(`${name}: access`, () => {
    it('is granted to members with the role or a higher one', async () => {
      const { access, addUser, workspaceIds } = await open();
      const [workspaceId] = workspaceIds;
      for (const [level, role] of ROLES.entries()) {
        const principal = principalOf(await addUser(workspaceId, role));
        for (const [requiredLevel, requiredRole] of ROLES.entries()) {
          const expected = level >= requiredLevel ? 'granted' : 'INSUFFICIENT_WORKSPACE_ROLE';
          expect(await access.check(principal, workspaceId, requiredRole)).toBe(expected);
        }
      }
    });

    it('conceals a workspace from users who are not members, and from callers who are not users', async () => {
      const { access, addUser, workspaceIds } = await open();
      const [workspaceId, otherWorkspaceId] = workspaceIds;
      const outsiderIds = [
        await addUser(otherWorkspaceId, 'admin'),
        await addUser(workspaceId),
        'nobody',
        '',
        null,
      ];
      for (const outsiderId of outsiderIds)
        expect(await access.check(principalOf(outsiderId), workspaceId, 'read')).toBe('concealed');
      const member = principalOf(await addUser(workspaceId, 'read'));
      for (const unknownId of ['none', ''])
        expect(await access.check(member, unknownId, 'read')).toBe('concealed');
    });

    it('lists the workspaces of a user, and none for callers who are not users', async () => {
      const { access, addUser, workspaceIds } = await open();
      const [workspaceId] = workspaceIds;
      expect(await access.listWorkspaceIds?.(principalOf(await addUser(workspaceId, 'read')))).toEqual([
        workspaceId,
      ]);
      expect(await access.listWorkspaceIds?.(principalOf(await addUser(workspaceId)))).toEqual([]);
      expect(await access.listWorkspaceIds?.(principalOf(null))).toEqual([]);
    });
  });
}
