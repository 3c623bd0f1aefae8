import { useState } from 'react';
import { PauseFieldInput } from './pause-field-input.tsx';
import { answerOfDecisions, fieldsOfCall } from './pause-calls.ts';
import type { CallDecision, PendingToolCall } from './pause-calls.ts';

interface CallsProps {
  calls: readonly PendingToolCall[];
  isPending: boolean;
  submit: (createAnswer: () => { [name: string]: unknown }) => void;
}

/** The tool calls that wait for a person, each with its arguments and a decision. */
export function CallsForm({ calls, isPending, submit }: CallsProps) {
  const [decisions, setDecisions] = useState<{ [id: string]: CallDecision }>({});
  return (
    <form
      className="pause-calls"
      onSubmit={(event) => {
        event.preventDefault();
        submit(() => answerOfDecisions(calls, decisions));
      }}
    >
      {calls.map((call) => (
        <CallFieldset
          key={call.id}
          call={call}
          decision={decisions[call.id] ?? { kind: '' }}
          onChange={(decision) => setDecisions({ ...decisions, [call.id]: decision })}
        />
      ))}
      <button type="submit" className="button primary" disabled={isPending}>
        {isPending ? 'Continuing…' : 'Continue the run'}
      </button>
    </form>
  );
}

interface CallProps {
  call: PendingToolCall;
  decision: CallDecision;
  onChange: (decision: CallDecision) => void;
}

function CallFieldset({ call, decision, onChange }: CallProps) {
  const { kind, values = {}, reason = '' } = decision;
  const fields = fieldsOfCall(call);
  return (
    <fieldset className="pause-call">
      <legend>
        <bdi className="mono">{call.name}</bdi>
      </legend>
      <pre dir="auto" tabIndex={0} aria-label="Arguments">
        {JSON.stringify(call.arguments, null, 2)}
      </pre>
      <div className="pause-form">
        <label className="field">
          <span>Decision</span>
          <select
            required
            value={kind}
            onChange={({ target }) => onChange({ ...decision, kind: target.value as CallDecision['kind'] })}
          >
            <option value="">–</option>
            <option value="approve">Approve</option>
            <option value="edit">Edit and approve</option>
            <option value="deny">Deny</option>
          </select>
        </label>
        {kind === 'edit' &&
          fields.map((field) => (
            <PauseFieldInput
              key={field.name}
              field={field}
              value={values[field.name] ?? field.initialText}
              onChange={(value) => onChange({ ...decision, values: { ...values, [field.name]: value } })}
            />
          ))}
        {kind !== '' && (
          <PauseFieldInput
            field={{ name: 'Reason', type: 'string', description: '', initialText: '' }}
            value={reason}
            onChange={(text) => onChange({ ...decision, reason: text })}
          />
        )}
      </div>
    </fieldset>
  );
}
