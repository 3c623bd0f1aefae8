import { EngineError, isJsonObject } from '@heddle/core/blocks';
import type { BlockContext, BlockExecutor, BlockResult, Json } from '@heddle/core/blocks';

/** The executor of the type `ask`. A block pauses during its work until a person has answered `times` questions. */
export class AskExecutor {
  /** Executed steps, in order: the block with its scope, and the number of the step. */
  readonly executedSteps: string[] = [];
  /** Called in each execution after the answers are read. A rejection fails the attempt. */
  readonly afterAnswers: (context: BlockContext, answers: Json[]) => Promise<void>;

  constructor(
    afterAnswers: (context: BlockContext, answers: Json[]) => Promise<void> = () => Promise.resolve(),
  ) {
    this.afterAnswers = afterAnswers;
  }

  readonly executor: BlockExecutor = {
    types: ['ask'],
    class: 'effect',
    execute: (context) => this.#execute(context),
    resume({ input }) {
      if (isJsonObject(input) && 'answer' in input) return { answer: input['answer'] as Json };
      throw new EngineError('RESUME_INPUT_INVALID', 'Answer with {"answer": …}.');
    },
  };

  async #execute(context: BlockContext): Promise<BlockResult> {
    const answers = await context.answers();
    await this.afterAnswers(context, answers);
    for (let stepNumber = 0; stepNumber <= answers.length; stepNumber++)
      await context.step(`work ${stepNumber}`, () => {
        this.executedSteps.push(`${[context.block.name, ...context.scope].join('.')} ${stepNumber}`);
        return stepNumber;
      });
    if (answers.length < Number(context.field('times')))
      return { pause: { question: answers.length + 1 }, continues: true };
    return { output: { answers, attempt: context.attempt } };
  }
}

/** Returns a block of the type `ask`. */
export function askBlock(name: string, times = 1, properties: { [field: string]: Json } = {}) {
  return { name, type: 'ask', fields: { times }, properties };
}
