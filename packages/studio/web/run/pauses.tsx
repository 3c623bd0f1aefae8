import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { resume } from '../api/actions.ts';
import type { Overview, Pause } from '../api/queries.ts';
import { Time } from '../components/format.tsx';
import { answerOf, fieldsOf } from './pause-fields.ts';
import { CallsForm } from './calls-form.tsx';
import { callsOf } from './pause-calls.ts';
import { PauseFieldInput } from './pause-field-input.tsx';

/** The pauses of the run, with a form for each one that the user can answer. */
export function Pauses({ run }: { run: Overview }) {
  if (run.pauses.length === 0) return null;
  return (
    <section className="pauses" aria-label="Waiting">
      {run.pauses.map((pause) => (
        <div className="pause" key={`${pause.blockId} ${pause.scope.join('/')} ${pause.pausedAt}`}>
          <p>
            <strong>
              <bdi>{pause.blockName}</bdi>
            </strong>{' '}
            {pause.kind === 'human' ? 'has waited for an answer' : 'has waited'} since{' '}
            <Time iso={pause.pausedAt} />
            {pause.resumesAt !== null && (
              <>
                {' '}
                and resumes at <Time iso={pause.resumesAt} />
              </>
            )}
            .
          </p>
          {pause.kind === 'human' && pause.contextId !== null && run.workflow.id !== null && (
            <PauseForm
              run={{ runId: run.runId, workflowId: run.workflow.id }}
              pause={pause}
              contextId={pause.contextId}
            />
          )}
          {pause.kind === 'human' && pause.contextId === null && <p>You have no permission to answer.</p>}
        </div>
      ))}
    </section>
  );
}

interface FormProps {
  run: { runId: string; workflowId: string };
  pause: Pause;
  contextId: string;
}

function PauseForm({ run, pause, contextId }: FormProps) {
  const queryClient = useQueryClient();
  const fields = fieldsOf(pause.inputFormat);
  const [values, setValues] = useState<{ [name: string]: string }>({});
  const action = useMutation({
    // Invalid text in a field throws here, so that its error is shown like an error of the server.
    mutationFn: async (createAnswer: () => { [name: string]: unknown }) =>
      resume(run, contextId, createAnswer()),
    onSettled: () => queryClient.invalidateQueries({ queryKey: ['run', run.runId] }),
  });
  const calls = callsOf(pause.output);
  const errorText = action.error && (
    <p role="alert" className="error-text">
      {action.error.message}
    </p>
  );
  if (calls.length > 0)
    return (
      <>
        <CallsForm calls={calls} isPending={action.isPending} submit={action.mutate} />
        {errorText}
      </>
    );
  return (
    <form
      className="pause-form"
      onSubmit={(event) => {
        event.preventDefault();
        action.mutate(() => answerOf(fields, values));
      }}
    >
      {fields.map((field) => (
        <PauseFieldInput
          key={field.name}
          field={field}
          value={values[field.name] ?? field.initialText}
          onChange={(value) => setValues({ ...values, [field.name]: value })}
        />
      ))}
      {errorText}
      <button type="submit" className="button primary" disabled={action.isPending}>
        {action.isPending ? 'Continuing…' : 'Continue the run'}
      </button>
    </form>
  );
}
