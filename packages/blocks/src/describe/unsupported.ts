const TYPES_BY_REASON: { readonly [reason: string]: readonly string[] } = {
  'exported workflows do not say which credentials a group has': ['credential_group'],
  'it needs an index of documents, or a paid service': ['search', 'enrichment'],
  'Heddle stores no tables': ['table'],
  'Heddle does not call models for speech, images or video': [
    'tts',
    'stt',
    'image_generator',
    'video_generator',
  ],
  'Heddle has no client for the Agent2Agent protocol': ['a2a'],
  'a workflow does not deploy workflows: use the HTTP API': ['deployments'],
  'it is a service of another product': ['mothership', 'pi'],
};

/** Returns why Heddle does not run a block type of exported workflows; undefined for any other type. */
export function unsupportedReason(type: string): string | undefined {
  if (type.startsWith('custom_block_')) return 'its definition is not part of an exported workflow';
  return Object.entries(TYPES_BY_REASON).find(([, types]) => types.includes(type))?.[0];
}
