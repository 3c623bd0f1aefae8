import { describe, expect, it } from 'vitest';
import { withSchemaInPrompt, schemaInstruction } from './schema-in-prompt.ts';

const SCHEMA = { type: 'object' as const };
const user = { role: 'user' as const, content: [{ type: 'text' as const, text: 'How many?' }] };

function callWith(...instructions: string[]) {
  const system = instructions.map((content) => ({ role: 'system' as const, content }));
  return {
    prompt: [...system, user],
    responseFormat: { type: 'json' as const, name: 'answer', schema: SCHEMA },
  };
}

describe('the response schema of a call', () => {
  it.each(['groq', 'deepseek'])('becomes an instruction for %s, which refuses schemas', (provider) => {
    const instruction = { role: 'system', content: schemaInstruction(SCHEMA) };
    expect(withSchemaInPrompt(provider, callWith())).toEqual({
      prompt: [instruction, user],
      responseFormat: { type: 'text' },
    });
    const mergedMessage = { role: 'system', content: `Be brief.\n\n${schemaInstruction(SCHEMA)}` };
    expect(withSchemaInPrompt(provider, callWith('Be brief.')).prompt).toEqual([mergedMessage, user]);
  });

  it('is not repeated in a prompt that contains it', () => {
    const content = `Score the text.\n${schemaInstruction(SCHEMA)}`;
    expect(withSchemaInPrompt('groq', callWith(content)).prompt).toEqual([{ role: 'system', content }, user]);
  });

  it('stays in the call for other providers', () => {
    const call = callWith('Be brief.');
    expect(withSchemaInPrompt('openai', call)).toBe(call);
  });
});
