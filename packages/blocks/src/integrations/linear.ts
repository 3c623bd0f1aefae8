import { arg, defineIntegration, integer, bodyMembers, text } from './integration.ts';

const ISSUE_FIELDS =
  'id identifier title description priority url createdAt updatedAt state { id name } team { id name }';

export const integration = defineIntegration({
  service: 'linear',
  title: 'Linear',
  docsUrl: 'https://linear.app/developers/graphql',
  baseUrl: 'https://api.linear.app',
  // Personal keys are sent as they are, access tokens with `Bearer`.
  credential: { type: 'bearer', scopes: ['read', 'write'], bare: 'lin_api_' },
  answer: {
    error: 'errors[0].message',
    code: 'errors[0].extensions.code',
    errors: {
      rate: ['RATELIMITED'],
      auth: ['AUTHENTICATION_ERROR', 'FORBIDDEN'],
      not_found: ['Entity not found'],
      invalid: ['INVALID_INPUT', 'GRAPHQL_VALIDATION_FAILED', 'BAD_USER_INPUT'],
      temporary: ['INTERNAL_SERVER_ERROR'],
    },
    reset: 'x-ratelimit-requests-reset',
  },
  types: ['linear'],
  operations: {
    linear_read_issues: 'linear_read_issues',
    linear_create_issue: 'linear_create_issue',
    linear_get_issue: 'linear_get_issue',
    linear_update_issue: 'linear_update_issue',
    linear_create_comment: 'linear_create_comment',
    linear_list_teams: 'linear_list_teams',
  },
  tools: {
    linear_create_issue: {
      description: 'Creates an issue.',
      method: 'POST',
      path: '/graphql',
      arguments: {
        teamId: text('Id of the team', { required: true, fields: ['teamId', 'manualTeamId'] }),
        projectId: text('Id of the project', { fields: ['projectId', 'manualProjectId'] }),
        title: text('Title of the issue', { required: true }),
        description: text('Description of the issue, as Markdown'),
        stateId: text('Id of the workflow state'),
        assigneeId: text('Id of the assignee'),
        priority: integer('Priority: 0 (none), 1 (urgent), 2 (high), 3 (normal) or 4 (low)', [0, 4]),
        dueDate: text('Due date, as YYYY-MM-DD'),
      },
      json: {
        query: `mutation ($input: IssueCreateInput!) { issueCreate(input: $input) { success issue { ${ISSUE_FIELDS} } } }`,
        variables: {
          input: bodyMembers(
            'teamId',
            'projectId',
            'title',
            'description',
            'stateId',
            'assigneeId',
            'priority',
            'dueDate',
          ),
        },
      },
      answer: { ok: 'data.issueCreate.success', output: { issue: 'data.issueCreate.issue' } },
    },
    linear_update_issue: {
      description: 'Updates an issue.',
      method: 'POST',
      path: '/graphql',
      arguments: {
        issueId: text('Id of the issue', { required: true }),
        title: text('Title of the issue'),
        description: text('Description of the issue, as Markdown'),
        stateId: text('Id of the workflow state'),
        assigneeId: text('Id of the assignee'),
        priority: integer('Priority: 0 (none), 1 (urgent), 2 (high), 3 (normal) or 4 (low)', [0, 4]),
      },
      json: {
        query: `mutation ($id: String!, $input: IssueUpdateInput!) { issueUpdate(id: $id, input: $input) { success issue { ${ISSUE_FIELDS} } } }`,
        variables: {
          id: arg('issueId'),
          input: bodyMembers('title', 'description', 'stateId', 'assigneeId', 'priority'),
        },
      },
      idempotent: true,
      answer: { ok: 'data.issueUpdate.success', output: { issue: 'data.issueUpdate.issue' } },
    },
    linear_create_comment: {
      description: 'Adds a comment to an issue.',
      method: 'POST',
      path: '/graphql',
      arguments: {
        issueId: text('Id of the issue', { required: true }),
        body: text('Text of the comment, as Markdown', { required: true }),
      },
      json: {
        query:
          'mutation ($input: CommentCreateInput!) { commentCreate(input: $input) { success comment { id body url createdAt } } }',
        variables: { input: bodyMembers('issueId', 'body') },
      },
      answer: { ok: 'data.commentCreate.success', output: { comment: 'data.commentCreate.comment' } },
    },
    linear_get_issue: {
      description: 'Returns an issue.',
      method: 'POST',
      path: '/graphql',
      arguments: { issueId: text('Id of the issue, or an identifier such as ENG-1', { required: true }) },
      json: {
        query: `query ($id: String!) { issue(id: $id) { ${ISSUE_FIELDS} } }`,
        variables: { id: arg('issueId') },
      },
      ...{ idempotent: true, readOnly: true },
      answer: { output: { issue: 'data.issue' } },
    },
    linear_read_issues: {
      description: 'Lists the newest issues of a team.',
      method: 'POST',
      path: '/graphql',
      arguments: {
        teamId: text('Id of the team', { required: true, fields: ['teamId', 'manualTeamId'] }),
        first: integer('Number of issues per page, up to 250', [1, 250], { fields: ['limit'] }),
        after: text('Cursor of the page to fetch, from the field "endCursor" of the previous page'),
      },
      json: {
        query: `query ($teamId: String!, $first: Int, $after: String) { team(id: $teamId) { issues(first: $first, after: $after) { nodes { ${ISSUE_FIELDS} } pageInfo { hasNextPage endCursor } } } }`,
        variables: bodyMembers('teamId', 'first', 'after'),
      },
      ...{ idempotent: true, readOnly: true },
      answer: {
        output: { issues: 'data.team.issues.nodes', pageInfo: 'data.team.issues.pageInfo' },
      },
    },
    linear_list_teams: {
      description: 'Lists the teams of the Linear workspace.',
      method: 'POST',
      path: '/graphql',
      arguments: {},
      json: { query: 'query { teams { nodes { id key name } } }' },
      ...{ idempotent: true, readOnly: true },
      answer: { output: { teams: 'data.teams.nodes' } },
    },
  },
});
