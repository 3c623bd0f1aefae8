import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useId, useState } from 'react';
import { rerun } from '../api/actions.ts';
import type { RerunBody } from '../api/actions.ts';
import { isNonTerminal, valueQuery } from '../api/queries.ts';
import type { Graph, Overview } from '../api/queries.ts';
import { ConfirmButton } from '../components/confirm-button.tsx';
import { ErrorNotice, Loading } from '../components/notice.tsx';
import { RUN_INPUT, editsOf, topLevelBlockOf, editTargetsOf } from './rerun-edits.ts';
import type { EditTarget, RerunEdits } from './rerun-edits.ts';
import { iterationsAround } from './selection.ts';

/** A button that starts the run again from its beginning, possibly with another input. */
export function RunAgainButton({ run }: { run: Overview }) {
  const { start, editor } = useRerun(run, [RUN_INPUT]);
  return (
    <ConfirmButton label="Run again" title="Start this run again?" onConfirm={() => start({})}>
      <p>A new run starts on the live version of the workflow.</p>
      {editor}
    </ConfirmButton>
  );
}

/** A button that starts a run at a block, with the outputs of the blocks before it, possibly changed. */
export function RunFromBlockButton({ run, block, spanId }: RunFromBlockButtonProps) {
  const enclosingIterations = iterationsAround(run.graph, block, spanId);
  const [startsInIteration, setStartsInIteration] = useState(enclosingIterations.length > 0);
  const [version, setVersion] = useState<'run' | 'live'>('run');
  const outermostBlock = topLevelBlockOf(run.graph, block);
  const startBlock = startsInIteration ? block : outermostBlock;
  const scope = startsInIteration ? enclosingIterations : [];
  const iterations = scope.map(({ index }) => index);
  const { start, editor, reset } = useRerun(run, editTargetsOf(run.graph, startBlock, scope));
  if (!run.mayResume || run.workflow.id === null || isNonTerminal(run.status)) return null;
  return (
    <div className="button-row">
      <ConfirmButton
        label="Run from here"
        title={`Start a run at ${startBlock.name}?`}
        onConfirm={() => start({ blockId: startBlock.id, version, ...(startsInIteration && { iterations }) })}
      >
        {enclosingIterations.length > 0 && (
          <label className="field">
            <span>Start</span>
            <select
              value={startsInIteration ? 'inside' : 'outermost'}
              onChange={({ target }) => {
                setStartsInIteration(target.value === 'inside');
                reset();
              }}
            >
              <option value="inside">
                In {enclosingIterations.map(({ name, index }) => `${name} #${index}`).join(', ')}
              </option>
              <option value="outermost">At {outermostBlock.name}, with all its iterations</option>
            </select>
          </label>
        )}
        <p>
          The new run reuses the outputs of the blocks before this block
          {startsInIteration && ', of earlier iterations, and of other branches that have ended'}.
        </p>
        <label className="field">
          <span>Version</span>
          <select value={version} onChange={({ target }) => setVersion(target.value as 'run' | 'live')}>
            <option value="run">The version of this run</option>
            <option value="live">The live version</option>
          </select>
        </label>
        {editor}
      </ConfirmButton>
    </div>
  );
}

interface RunFromBlockButtonProps {
  run: Overview;
  block: Graph['blocks'][number];
  /** The execution of the block, which determines the iterations in which it starts. */
  spanId: string;
}

/**
 * Returns `start`, which starts the new run and opens its page; `editor`, the form that changes a value before the
 * start; and `reset`, which clears the form.
 */
function useRerun(run: Overview, targets: readonly EditTarget[]) {
  const navigate = useNavigate();
  const [choice, setChoice] = useState('');
  const [edit, setEdit] = useState<{ original: unknown; text: string }>();
  const target = targets[Number(choice)];
  const collectEdits = (): RerunEdits =>
    choice === '' || !target || !edit ? {} : editsOf(target, edit.original, edit.text);
  const start = async (body: Pick<RerunBody, 'blockId' | 'iterations' | 'version'>): Promise<void> => {
    const { id: workflowId } = run.workflow;
    if (workflowId === null) return;
    const runId = await rerun({ runId: run.runId, workflowId }, { ...body, ...collectEdits() });
    await navigate({ to: '/runs/$runId', params: { runId }, search: {} });
  };
  const editor = (
    <>
      <label className="field">
        <span>Change before it starts</span>
        <select
          value={choice}
          onChange={(event) => {
            setChoice(event.target.value);
            setEdit(undefined);
          }}
        >
          <option value="">Nothing</option>
          {targets.map(({ title }, index) => (
            <option key={`${index} ${title}`} value={index}>
              {title}
            </option>
          ))}
        </select>
      </label>
      {choice !== '' && target && (
        <ValueEditor
          key={target.title}
          runId={run.runId}
          target={target}
          text={edit?.text}
          onChange={(text, original) => setEdit({ text, original })}
        />
      )}
    </>
  );
  const reset = (): void => {
    setChoice('');
    setEdit(undefined);
  };
  return { start, editor, reset };
}

interface ValueEditorProps {
  runId: string;
  target: EditTarget;
  /** Undefined: not changed yet. */
  text: string | undefined;
  onChange: (text: string, original: unknown) => void;
}

function ValueEditor({ runId, target, text, onChange }: ValueEditorProps) {
  const id = useId();
  const { data, error, refetch } = useQuery(valueQuery(runId, target.address));
  if (error) return <ErrorNotice error={error} retry={refetch} />;
  if (!data) return <Loading label="the value" />;
  if (data.nextOffset !== null)
    return <p>The value is larger than 64 KB. It can be changed only through the HTTP API.</p>;
  const original = JSON.parse(data.text) as unknown;
  return (
    <div className="field">
      <label htmlFor={id}>New value, as JSON</label>
      <textarea
        id={id}
        className="mono"
        rows={10}
        spellCheck={false}
        value={text ?? JSON.stringify(original, null, 2)}
        onChange={(event) => onChange(event.target.value, original)}
      />
    </div>
  );
}
