// SPDX-License-Identifier: Apache-2.0
/** Runs checks: reads what they need, judges each driver, and puts together what has one cause. */
import { toError } from '@csi-sidecars/runtime';
import type { Missing } from '../cluster/reader.ts';
import type { ObjectName } from '../verdict.ts';
import { createdMs } from '../facts/objects.ts';
import { type Check, type Judgement, type Problem, type Surroundings } from './check.ts';
import { driversOf } from './readings/drivers.ts';
import { type Gathering, isRead } from './readings/source.ts';
import type { DriverFacts, Readings } from './readings/facts.ts';
import { type CheckId, type Severity, severities } from './ids.ts';

export interface Finding extends Omit<Problem, 'kind' | 'severity' | 'mend'> {
  readonly id: CheckId;
  readonly severity: Severity;
  readonly mend: string;
  /** The check whose finding explains this one, which does not count then. */
  readonly because: CheckId | undefined;
}

export interface NotRun {
  readonly id: CheckId;
  readonly missing: readonly Missing[];
}

export interface Examined {
  readonly drivers: readonly DriverFacts[];
  readonly findings: readonly Finding[];
  readonly notRun: readonly NotRun[];
}

export async function examine(
  gathering: Gathering,
  checks: readonly Check[],
  surroundings: Surroundings,
): Promise<Examined> {
  const drivers = await driversOf(gathering);
  const objects = await gathering.get('csiDrivers');
  const unseen = isRead(objects) || gathering.scope.driver !== undefined ? [] : objects.missing;
  const findings: Finding[] = [];
  const notRun: NotRun[] = [];
  for (const check of checks) {
    const { readings, missing } = await readingsOf(gathering, check);
    const lacking = [...missing, ...(check.of === 'driver' ? unseen : [])];
    for (const judgement of readings === undefined ? [] : judge(check, drivers, { readings, surroundings })) {
      if (judgement.kind === 'notKnown') lacking.push(judgement.missing);
      else findings.push(findingOf(check, judgement));
    }
    if (lacking.length > 0) notRun.push({ id: check.id, missing: distinct(lacking) });
  }
  const { driver: asked } = gathering.scope;
  const own = findings.filter(({ driver }) => asked === undefined || driver === undefined || driver === asked);
  const isOfDriver = own.some(({ driver }) => driver !== undefined);
  const developed = isOfDriver ? await developedDrivers(gathering, drivers, surroundings) : new Set<string>();
  const lowered = own.map((finding) => (developed.has(finding.driver ?? '') ? lower(finding) : finding));
  return { drivers, findings: folded(lowered, checks), notRun };
}

interface ReadFor {
  /** Undefined: something that the check needs was not read. */
  readonly readings: Readings | undefined;
  readonly missing: readonly Missing[];
}

async function readingsOf({ get }: Gathering, { reads }: Check): Promise<ReadFor> {
  const readings: Partial<Record<keyof Readings, unknown>> = {};
  const missing: Missing[] = [];
  let isWhole = true;
  for (const name of reads) {
    const read = await get(name);
    if (isRead(read)) {
      readings[name] = read.value;
      missing.push(...read.cut);
    } else {
      isWhole = false;
      missing.push(...read.missing);
    }
  }
  // A check sees no more than what it names, by the types of `driverCheck` and `clusterCheck`.
  return { readings: isWhole ? (readings as Readings) : undefined, missing };
}

interface Judged {
  readonly readings: Readings;
  readonly surroundings: Surroundings;
}

/** An object that no check has thought of ends one check, and not the command. */
function judge(
  check: Check,
  drivers: readonly DriverFacts[],
  { readings, surroundings }: Judged,
): readonly Judgement[] {
  try {
    if (check.of === 'cluster') return check.judge(readings, surroundings);
    return drivers.flatMap((driver) =>
      check
        .judge(driver, readings, surroundings)
        .map((judgement) => (judgement.kind === 'problem' ? { driver: driver.name, ...judgement } : judgement)),
    );
  } catch (error) {
    const missing = { verb: 'get', group: '', resource: check.id, namespace: undefined, because: 'failed' } as const;
    return [
      { kind: 'notKnown', missing: { ...missing, notKnown: `what the objects mean (${toError(error).message})` } },
    ];
  }
}

function findingOf(check: Check, { severity = check.severity, mend = check.mend, ...problem }: Problem): Finding {
  const { driver, program, objects, sentence, evidence, look } = problem;
  return { id: check.id, severity, driver, program, objects, sentence, evidence, look, mend, because: undefined };
}

function distinct(all: readonly Missing[]): readonly Missing[] {
  return [...new Map(all.map((each) => [JSON.stringify(each), each])).values()];
}

const youngMs = 600_000;

/** A driver that is being installed or rolled out: what is wrong may be on its way. */
async function developedDrivers(
  { get }: Gathering,
  drivers: readonly DriverFacts[],
  { nowMs }: Surroundings,
): Promise<ReadonlySet<string>> {
  const workloads = await get('workloads');
  return new Set(
    drivers
      .filter(({ name, object }) => {
        const bornMs = object && createdMs(object);
        const isYoung = bornMs !== undefined && nowMs - bornMs < youngMs;
        const own = isRead(workloads) ? workloads.value.of(name) : [];
        return isYoung || own.some((workload) => workload.object.kind === 'DaemonSet' && workload.isRollingOut);
      })
      .map(({ name }) => name),
  );
}

function lower(finding: Finding): Finding {
  return { ...finding, severity: finding.severity === 'error' ? 'warn' : 'info' };
}

/** A finding that another one explains does not count; the other one is as severe as what follows from it. */
function folded(findings: readonly Finding[], checks: readonly Check[]): readonly Finding[] {
  const causes = new Map(checks.map(({ id, causes: known = [] }) => [id, known]));
  const causeOf = (finding: Finding): Finding | undefined => {
    const known = causes.get(finding.id) ?? [];
    return known.flatMap((id) => findings.filter((other) => other.id === id && explains(other, finding)))[0];
  };
  const because = new Map(findings.map((finding) => [finding, causeOf(finding)]));
  const worst = new Map<Finding, Severity>();
  for (const finding of findings)
    for (let cause = because.get(finding); cause !== undefined; cause = because.get(cause))
      worst.set(cause, worse(worst.get(cause) ?? cause.severity, finding.severity));
  return findings
    .map((finding) => ({
      ...finding,
      severity: worst.get(finding) ?? finding.severity,
      because: because.get(finding)?.id,
    }))
    .toSorted((left, right) => severities.indexOf(left.severity) - severities.indexOf(right.severity));
}

function explains(cause: Finding, effect: Finding): boolean {
  const agree = <T>(left: T | undefined, right: T | undefined): boolean =>
    left === undefined || right === undefined || left === right;
  const isSame = (left: ObjectName, right: ObjectName): boolean =>
    left.namespace === right.namespace && left.name === right.name;
  const arePods = [cause, effect].every(({ objects }) => objects.every(({ kind }) => kind === 'Pod'));
  const isSamePod = !arePods || cause.objects.some((one) => effect.objects.some((other) => isSame(one, other)));
  return agree(cause.driver, effect.driver) && agree(cause.program, effect.program) && isSamePod;
}

function worse(left: Severity, right: Severity): Severity {
  return severities.indexOf(left) <= severities.indexOf(right) ? left : right;
}
