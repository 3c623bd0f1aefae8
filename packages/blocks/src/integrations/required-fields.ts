/**
 * The fields that operations of integrations need, by block type: `OPERATION FIELD|OTHER …; …`. `OPERATION@FEATURE`
 * is an operation that uses data of the host. Generated from the definitions: `npm test --
 * test/integrations/definitions -u`.
 */
export const REQUIRED_FIELDS: { readonly [type: string]: string } = {
  airtable:
    'list baseId|baseSelector tableId|tableSelector; airtable_list baseId|baseSelector tableId|tableSelector; get baseId|baseSelector tableId|tableSelector recordId; create baseId|baseSelector tableId|tableSelector records; update baseId|baseSelector tableId|tableSelector recordId fields',
  discord:
    'discord_send_message channelId content; discord_get_messages channelId; discord_get_server serverId',
  exa: 'exa_search query; exa_get_contents urls; exa_answer query',
  file: 'file_parser; file_parser_v3 file|fileUrl; file_fetch fileUrl; file_get getFile|getFileId; file_read; file_get_content; file_list@files; file_write@files fileName; file_append@files appendFile|appendFileName appendContent; file_edit@files editFile|editFileName oldString; file_insert@files editFile|editFileName afterLine insertContent; file_move@files moveFileId',
  file_v2:
    'file_parser; file_parser_v3 file|fileUrl; file_fetch fileUrl; file_get getFile|getFileId; file_read; file_get_content; file_list@files; file_write@files fileName; file_append@files appendFile|appendFileName appendContent; file_edit@files editFile|editFileName oldString; file_insert@files editFile|editFileName afterLine insertContent; file_move@files moveFileId',
  file_v3:
    'file_parser_v3 file|fileUrl; file_parser; file_fetch fileUrl; file_get getFile|getFileId; file_read; file_get_content; file_list@files; file_write@files fileName; file_append@files appendFile|appendFileName appendContent; file_edit@files editFile|editFileName oldString; file_insert@files editFile|editFileName afterLine insertContent; file_move@files moveFileId',
  file_v4:
    'file_read; file_parser; file_parser_v3 file|fileUrl; file_fetch fileUrl; file_get getFile|getFileId; file_get_content; file_list@files; file_write@files fileName; file_append@files appendFile|appendFileName appendContent; file_edit@files editFile|editFileName oldString; file_insert@files editFile|editFileName afterLine insertContent; file_move@files moveFileId',
  file_v5:
    'file_read; file_parser; file_parser_v3 file|fileUrl; file_fetch fileUrl; file_get getFile|getFileId; file_get_content; file_list@files; file_write@files fileName; file_append@files appendFile|appendFileName appendContent; file_edit@files editFile|editFileName oldString; file_insert@files editFile|editFileName afterLine insertContent; file_move@files moveFileId',
  firecrawl: 'scrape url; search query; map url',
  github:
    'github_pr owner repo pullNumber; github_list_prs owner repo; github_create_pr owner repo title head base; github_issue_comment owner repo issue_number|pullNumber body; github_comment owner repo issue_number|pullNumber body; github_get_issue owner repo issue_number; github_create_issue owner repo title; github_list_issues owner repo; github_repo_info owner repo; github_get_file_content owner repo path; github_merge_pr owner repo pullNumber',
  github_v2:
    'github_pr owner repo pullNumber; github_list_prs owner repo; github_create_pr owner repo title head base; github_issue_comment owner repo issue_number|pullNumber body; github_comment owner repo issue_number|pullNumber body; github_get_issue owner repo issue_number; github_create_issue owner repo title; github_list_issues owner repo; github_repo_info owner repo; github_get_file_content owner repo path; github_merge_pr owner repo pullNumber',
  gmail:
    'send_gmail to body; draft_gmail to body; read_gmail messageId; search_gmail; mark_read_gmail actionMessageId|messageId; delete_gmail actionMessageId|messageId',
  gmail_v2:
    'send_gmail to body; draft_gmail to body; read_gmail messageId; search_gmail; mark_read_gmail actionMessageId|messageId; delete_gmail actionMessageId|messageId',
  google_calendar:
    'create summary startDateTime endDateTime; list; get eventId; delete eventId; quick_add text',
  google_calendar_v2:
    'create summary startDateTime endDateTime; list; get eventId; delete eventId; quick_add text',
  google_drive:
    'list; get_file fileId|manualFileId; upload; download fileId|manualFileId; export fileId|manualFileId mimeType|exportMimeType; create_folder fileName; delete fileId|manualFileId',
  google_sheets:
    'read spreadsheetId|manualSpreadsheetId sheetName|manualSheetName; write spreadsheetId|manualSpreadsheetId sheetName|manualSheetName values; update spreadsheetId|manualSpreadsheetId sheetName|manualSheetName values; append spreadsheetId|manualSpreadsheetId sheetName|manualSheetName values; clear spreadsheetId|manualSpreadsheetId sheetName|manualSheetName; get_info spreadsheetId|manualSpreadsheetId',
  google_sheets_v2:
    'read spreadsheetId|manualSpreadsheetId sheetName|manualSheetName; write spreadsheetId|manualSpreadsheetId sheetName|manualSheetName values; update spreadsheetId|manualSpreadsheetId sheetName|manualSheetName values; append spreadsheetId|manualSpreadsheetId sheetName|manualSheetName values; clear spreadsheetId|manualSpreadsheetId sheetName|manualSheetName; get_info spreadsheetId|manualSpreadsheetId',
  hubspot:
    'get_contacts; get_contact contactId; create_contact properties|propertiesToSet; update_contact contactId properties|propertiesToSet',
  jira: 'read issueKey|manualIssueKey; search jql; write projectId|manualProjectId issueType summary; add_comment issueKey|manualIssueKey comment',
  knowledge:
    'search@knowledge knowledgeBaseSelector|manualKnowledgeBaseId|knowledgeBaseId; list_documents@knowledge knowledgeBaseSelector|manualKnowledgeBaseId|knowledgeBaseId; get_document@knowledge knowledgeBaseSelector|manualKnowledgeBaseId|knowledgeBaseId documentSelector|documentId; create_document@knowledge knowledgeBaseSelector|manualKnowledgeBaseId|knowledgeBaseId name content; upsert_document@knowledge knowledgeBaseSelector|manualKnowledgeBaseId|knowledgeBaseId name content; delete_document@knowledge knowledgeBaseSelector|manualKnowledgeBaseId|knowledgeBaseId documentSelector|documentId; list_chunks@knowledge knowledgeBaseSelector|manualKnowledgeBaseId|knowledgeBaseId documentSelector|documentId; upload_chunk@knowledge knowledgeBaseSelector|manualKnowledgeBaseId|knowledgeBaseId documentSelector|documentId content; update_chunk@knowledge knowledgeBaseSelector|manualKnowledgeBaseId|knowledgeBaseId documentSelector|documentId chunkId; delete_chunk@knowledge knowledgeBaseSelector|manualKnowledgeBaseId|knowledgeBaseId documentSelector|documentId chunkId; list_tags@knowledge knowledgeBaseSelector|manualKnowledgeBaseId|knowledgeBaseId; list_connectors@knowledge knowledgeBaseSelector|manualKnowledgeBaseId|knowledgeBaseId; get_connector@knowledge knowledgeBaseSelector|manualKnowledgeBaseId|knowledgeBaseId connectorId; trigger_sync@knowledge knowledgeBaseSelector|manualKnowledgeBaseId|knowledgeBaseId connectorId',
  linear:
    'linear_read_issues teamId|manualTeamId; linear_create_issue teamId|manualTeamId title; linear_get_issue issueId; linear_update_issue issueId; linear_create_comment issueId body; linear_list_teams',
  linkedin: 'get_profile; share_post author text visibility',
  mistral_parse:
    'mistral_parser_v3 fileReference|fileUpload|filePath; mistral_parser_v2 fileReference|fileUpload|filePath; mistral_parser fileReference|fileUpload|filePath',
  mistral_parse_v2:
    'mistral_parser_v3 fileReference|fileUpload|filePath; mistral_parser_v2 fileReference|fileUpload|filePath; mistral_parser fileReference|fileUpload|filePath',
  mistral_parse_v3:
    'mistral_parser_v3 fileReference|fileUpload|filePath; mistral_parser_v2 fileReference|fileUpload|filePath; mistral_parser fileReference|fileUpload|filePath',
  notion:
    'notion_read pageId|pageSelector; notion_create_page parentId|parentSelector; notion_write pageId|pageSelector content; notion_query_database databaseId|databaseSelector; notion_read_database databaseId|databaseSelector; notion_search; notion_add_database_row databaseId|databaseSelector',
  notion_v2:
    'notion_read pageId|pageSelector; notion_create_page parentId|parentSelector; notion_write pageId|pageSelector content; notion_query_database databaseId|databaseSelector; notion_read_database databaseId|databaseSelector; notion_search; notion_add_database_row databaseId|databaseSelector',
  postgresql: 'query query; insert table data; update table data; delete table; execute query; introspect',
  reddit: 'get_posts subreddit sort; search subreddit query; get_comments subreddit postId',
  resend: 'send_email fromAddress to subject body; get_email emailId',
  s3: 'get_object; put_object bucketName|bucket objectKey|key; list_objects bucketName|bucket; delete_object bucketName|bucket objectKey|key; copy_object sourceBucket sourceKey destinationBucket destinationKey; presign_url bucketName|bucket objectKey|key',
  slack:
    'send channel|manualChannel|dmUserId|manualDmUserId text; update channel|manualChannel updateTimestamp updateText; delete channel|manualChannel deleteTimestamp; read channel|manualChannel; list_channels; list_users; get_user userId|manualUserId; react channel|manualChannel reactionTimestamp emojiName',
  stripe:
    'create_customer; retrieve_customer id; update_customer id; list_customers; create_payment_intent amount currency; retrieve_payment_intent id; list_payment_intents; retrieve_invoice id; list_invoices',
  supabase:
    'query table; get_row table filter; insert table data; update table filter data; delete table filter; upsert table data',
  tavily: 'tavily_search query; tavily_extract urls',
  telegram:
    'telegram_message chatId text; telegram_send_photo chatId photo; telegram_send_video chatId video; telegram_send_audio chatId audio; telegram_delete_message chatId messageId',
  x: 'x_search_tweets query; x_search query; x_write text; x_create_tweet text; x_get_user username',
};
