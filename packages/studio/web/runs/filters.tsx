import { useEffect, useState } from 'react';
import type { RunListSearch } from '../shell/search.ts';
import { PERIODS } from './periods.ts';

const STATUSES = [
  ['', 'Any status'],
  ['running', 'Running'],
  ['pending', 'Paused or waiting'],
  ['completed', 'Completed'],
  ['failed', 'Failed'],
  ['cancelled', 'Cancelled'],
] as const;

const TRIGGERS = [
  ['', 'Any trigger'],
  ['api', 'API'],
  ['manual', 'Manual'],
  ['workflow', 'Another workflow'],
] as const;

const PARTS = [
  ['input', 'Input'],
  ['output', 'Output'],
  ['error', 'Error'],
] as const;

interface FiltersProps {
  search: RunListSearch;
  onChange: (search: RunListSearch) => void;
}

type FilterName = keyof RunListSearch;

/** The filters of the list of runs. They are in the URL, so that a filtered list can be shared. */
export function Filters({ search, onChange }: FiltersProps) {
  const setFilter = (name: FilterName, value: string) => {
    const { [name]: _previous, ...others } = search;
    if (name === 'text' && value === '' && 'in' in others) delete others.in;
    const isNumber = name === 'minDurationMs' || name === 'minCost';
    onChange(value === '' ? others : { ...others, [name]: isNumber ? Number(value) : value });
  };
  const seconds = search.minDurationMs === undefined ? '' : String(search.minDurationMs / 1000);
  return (
    <form className="filters" role="search" aria-label="Runs" onSubmit={(event) => event.preventDefault()}>
      <Choice
        label="Status"
        value={search.status}
        options={STATUSES}
        onChange={(value) => setFilter('status', value)}
      />
      <Text
        label="Workflow"
        value={search.workflowName ?? ''}
        onChange={(value) => setFilter('workflowName', value)}
      />
      <Choice
        label="Trigger"
        value={search.triggers}
        options={TRIGGERS}
        onChange={(value) => setFilter('triggers', value)}
      />
      <Choice
        label="Started"
        value={search.since}
        options={[['', 'Any time'], ...PERIODS.map(({ id, label }) => [id, label] as const)]}
        onChange={(value) => setFilter('since', value)}
      />
      <Text label="Value or error" value={search.text ?? ''} onChange={(value) => setFilter('text', value)} />
      {search.text !== undefined && (
        <Choice
          label="Found in"
          value={search.in}
          options={[['', 'Anything'] as const, ...PARTS]}
          onChange={(value) => setFilter('in', value)}
        />
      )}
      <Text label="Run id" value={search.runId ?? ''} onChange={(value) => setFilter('runId', value)} />
      <Text
        label="Longer than (s)"
        type="number"
        value={seconds}
        onChange={(value) => setFilter('minDurationMs', value === '' ? '' : String(Number(value) * 1000))}
      />
      <Text
        label="Cost over ($)"
        type="number"
        value={search.minCost === undefined ? '' : String(search.minCost)}
        onChange={(value) => setFilter('minCost', value)}
      />
    </form>
  );
}

interface ChoiceProps {
  label: string;
  value: string | undefined;
  options: readonly (readonly [value: string, label: string])[];
  onChange: (value: string) => void;
}

function Choice({ label, value, options, onChange }: ChoiceProps) {
  return (
    <label className="field">
      <span>{label}</span>
      <select value={value ?? ''} onChange={({ target }) => onChange(target.value)}>
        {options.map(([id, text]) => (
          <option key={id} value={id}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

interface TextProps {
  label: string;
  value: string;
  type?: 'text' | 'number';
  onChange: (value: string) => void;
}

const TYPING_PAUSE_MS = 250;

/** A field that reports its text when the user has stopped typing. */
function Text({ label, value, type = 'text', onChange }: TextProps) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return undefined;
    const timer = setTimeout(() => onChange(text.trim()), TYPING_PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text, value, onChange]);
  return (
    <label className="field">
      <span>{label}</span>
      <input
        type={type}
        value={text}
        maxLength={128}
        {...(type === 'number' && { min: 0, step: 'any' })}
        onChange={({ target }) => setText(target.value)}
      />
    </label>
  );
}
