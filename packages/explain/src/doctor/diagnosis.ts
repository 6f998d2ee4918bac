// SPDX-License-Identifier: Apache-2.0
/** The Diagnosis: the document of `-o json` and `-o yaml`, and the text. Fields are added, never renamed or removed. */
import { forScreen, shellLine } from '../command/printable.ts';
import type { Explanation } from '../report/explanation.ts';
import { clean, missingJson, type MissingJson } from '../report/parts.ts';
import type { ObjectName } from '../verdict.ts';
import type { Accepted } from './accepted.ts';
import type { Examined, Finding } from './examine.ts';
import type { Severity } from './ids.ts';

export interface FindingJson {
  readonly id: string;
  readonly severity: Severity;
  readonly driver: string | null;
  readonly program: string | null;
  /** At most 20 of them. */
  readonly objects: readonly { readonly kind: string; readonly namespace: string | null; readonly name: string }[];
  readonly objectsTotal: number;
  readonly sentence: string;
  readonly evidence: readonly { readonly object: string; readonly field: string; readonly value: string }[];
  /** A command that looks at it. */
  readonly look: readonly string[] | null;
  readonly mend: string;
  /** The check whose finding explains this one, which does not count then. */
  readonly because: string | null;
  /** The row of the page of explain or of a program; null: none. */
  readonly row: string | null;
}

export interface Diagnosis {
  readonly apiVersion: 'csi-sidecars/v1';
  readonly kind: 'Diagnosis';
  /** RFC 3339, by the clock of the API server. */
  readonly at: string;
  readonly clock: { readonly localOffsetSeconds: number };
  readonly cluster: { readonly version: string };
  readonly drivers: readonly {
    readonly name: string;
    readonly hasCSIDriver: boolean;
    readonly errors: number;
    readonly warnings: number;
    readonly infos: number;
  }[];
  readonly findings: readonly FindingJson[];
  readonly accepted: readonly FindingJson[];
  readonly notRun: readonly { readonly id: string; readonly missing: readonly MissingJson[] }[];
  readonly warnings: readonly string[];
  readonly cost: Explanation['cost'];
  readonly exitCode: number;
}

export interface DiagnosisFacts {
  readonly atMs: number;
  readonly localOffsetMs: number;
  readonly version: string | undefined;
  readonly examined: Examined;
  readonly accepted: Accepted;
  readonly cost: Explanation['cost'];
  readonly exitCode: number;
}

const mostObjects = 20;

export function diagnosisOf(facts: DiagnosisFacts): Diagnosis {
  const { atMs, localOffsetMs, version, examined, accepted, cost, exitCode } = facts;
  const counted = accepted.findings.filter(({ because }) => because === undefined);
  return {
    apiVersion: 'csi-sidecars/v1',
    kind: 'Diagnosis',
    at: new Date(atMs).toISOString().replace(/\.\d+Z$/, 'Z'),
    clock: { localOffsetSeconds: localOffsetMs / 1_000 },
    cluster: { version: version === undefined ? 'unknown' : clean(version) },
    drivers: examined.drivers.map(({ name, object }) => {
      const count = (severity: Severity): number =>
        counted.filter((finding) => finding.driver === name && finding.severity === severity).length;
      return {
        name: clean(name),
        hasCSIDriver: object !== undefined,
        errors: count('error'),
        warnings: count('warn'),
        infos: count('info'),
      };
    }),
    findings: accepted.findings.map(findingJson),
    accepted: accepted.accepted.map(findingJson),
    notRun: examined.notRun.map(({ id, missing }) => ({ id, missing: missing.slice(0, mostObjects).map(missingJson) })),
    warnings: warningsOf(accepted),
    cost,
    exitCode,
  };
}

export function warningsOf({ unknown }: Accepted): readonly string[] {
  return unknown.map((id) => `the file of --accept names ${clean(id)}, which is no check`);
}

/** 4: an error. 5: something was not read, and nothing worse was found. 3: a warning. */
export function exitOf(findings: readonly Finding[], { notRun }: Examined): 0 | 3 | 4 | 5 {
  const found = new Set(findings.filter(({ because }) => because === undefined).map(({ severity }) => severity));
  if (found.has('error')) return 4;
  if (notRun.length > 0) return 5;
  return found.has('warn') ? 3 : 0;
}

function findingJson(finding: Finding): FindingJson {
  const { id, severity, driver, program, objects, sentence, evidence, look, mend, because } = finding;
  return {
    id,
    severity,
    driver: driver === undefined ? null : clean(driver),
    program: program ?? null,
    objects: objects.slice(0, mostObjects).map(nameJson),
    objectsTotal: objects.length,
    sentence: clean(sentence),
    evidence: evidence.map(({ object, field, value }) => ({
      object: clean(object),
      field: clean(field),
      value: clean(value),
    })),
    look: look ?? null,
    mend: clean(mend),
    because: because ?? null,
    row: null,
  };
}

function nameJson({ kind, namespace, name }: ObjectName): FindingJson['objects'][number] {
  return { kind, namespace: namespace === undefined ? null : clean(namespace), name: clean(name) };
}

const indent = ' '.repeat(7);

/** Sorted by severity. `isColoured`: each colour has its word beside it. */
export function screenOf(
  diagnosis: Diagnosis,
  { columns, isColoured }: { readonly columns: number; readonly isColoured: boolean },
): string {
  const width = Math.min(Math.max(columns, 80), 120);
  const { findings, notRun, drivers, accepted } = diagnosis;
  const counted = findings.filter(({ because }) => because === null);
  const total = (severity: Severity, driver: string | null): number =>
    counted.filter((each) => each.severity === severity && each.driver === driver).length;
  const head = (name: string, driver: string | null): string =>
    `${forScreen(name)}  ${total('error', driver)} error, ${total('warn', driver)} warn, ${notRun.length} not run`;
  const others = new Set(
    counted.map(({ driver }) => driver).filter((driver) => !drivers.some(({ name }) => name === driver)),
  );
  const lines = [
    ...drivers.map(({ name }) => head(name, name)),
    ...[...others].map((driver) => head(driver ?? 'cluster', driver)),
    ...(drivers.length === 0 && others.size === 0 ? [head('cluster', null)] : []),
    ...counted.flatMap((finding) => ['', ...linesOf(finding, findings, width)]),
    ...(notRun.length === 0 ? [] : ['', ...notRunLines(diagnosis, width)]),
    ...(accepted.length === 0 ? [] : ['', `accepted: ${[...new Set(accepted.map(({ id }) => id))].join(', ')}`]),
    ...clockLines(diagnosis),
  ];
  return `${lines.map((line) => (isColoured ? coloured(line) : line)).join('\n')}\n`;
}

function linesOf(finding: FindingJson, all: readonly FindingJson[], width: number): readonly string[] {
  const { id, severity, sentence, evidence, look, mend, objects, objectsTotal, driver, program } = finding;
  const effects = all.filter(
    (other) =>
      other.because === id &&
      (other.driver ?? driver) === (driver ?? other.driver) &&
      (other.program ?? program) === (program ?? other.program),
  );
  const names = objects
    .slice(0, 3)
    .map(({ kind, namespace, name }) => `${kind} ${namespace === null ? '' : `${namespace}/`}${name}`);
  const left = objectsTotal - names.length;
  return [
    ...wrapped(`${severity.padEnd(5)}  ${id.padEnd(9)} `, sentence, width),
    ...(names.length === 0
      ? []
      : wrapped(`${indent}about: `, `${names.join(', ')}${left > 0 ? ` and ${left} more` : ''}`, width)),
    ...evidence.flatMap(({ object, field, value }) =>
      wrapped(`${indent}seen:  `, `${object}, ${field}: ${value}`, width),
    ),
    // A command is not wrapped: it is to be copied.
    ...(look === null ? [] : [`${indent}look:  ${forScreen(shellLine(look), 2_000)}`]),
    ...wrapped(`${indent}mend:  `, mend, width),
    ...effects.flatMap((effect) => wrapped(`${indent}so:    `, `${effect.id} ${effect.sentence}`, width)),
  ];
}

function notRunLines({ notRun }: Diagnosis, width: number): readonly string[] {
  const reasons = new Map<string, Set<string>>();
  for (const { id, missing } of notRun)
    for (const { verb, group, resource, namespace, because } of missing) {
      const what = `${verb} ${resource}${group === '' ? '' : `.${group}`}${namespace === null ? '' : ` in ${namespace}`} (${because})`;
      reasons.set(what, (reasons.get(what) ?? new Set()).add(id));
    }
  return [...reasons].flatMap(([what, ids]) => wrapped('not run  ', `${[...ids].join(', ')}: ${what}`, width));
}

function clockLines({ clock: { localOffsetSeconds } }: Diagnosis): readonly string[] {
  if (Math.abs(localOffsetSeconds) <= 5) return [];
  const where = localOffsetSeconds > 0 ? 'ahead of' : 'behind';
  return [
    '',
    `the clock of this machine is ${Math.round(Math.abs(localOffsetSeconds))} s ${where} that of the API server`,
  ];
}

/** The first line begins with the label, the others with as many spaces. */
function wrapped(label: string, text: string, width: number): readonly string[] {
  const room = width - label.length;
  const words = forScreen(text, 600)
    .split(' ')
    .flatMap((word) => word.match(new RegExp(`.{1,${room}}`, 'g')) ?? ['']);
  const lines: string[] = [];
  let line = '';
  for (const word of words) {
    if (line !== '' && line.length + 1 + word.length > room) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line].map((each, index) => `${index === 0 ? label : ' '.repeat(label.length)}${each}`);
}

const colours: Readonly<Record<string, string>> = { error: '31', warn: '33' };

function coloured(line: string): string {
  const [, word = ''] = /^(error|warn) /.exec(line) ?? [];
  const colour = colours[word];
  return colour === undefined ? line : `\u001B[${colour}m${line}\u001B[0m`;
}
