// SPDX-License-Identifier: Apache-2.0
/** `csi-sidecars audit`: compares what a driver lists with what the cluster records. It changes nothing, neither there nor here. */
import { connectCsi } from '@csi-sidecars/csi';
import { csiDrivers, type Logger, toError } from '@csi-sidecars/runtime';
import type { ProgramDeps, Started } from '@csi-sidecars/sidecar';
import { CommandError, exitCodeOf, exits } from '../command/exit-codes.ts';
import { type Cluster, openCluster } from '../command/open-cluster.ts';
import { formatted, runCommand } from '../command/run-command.ts';
import type { AskHttp } from '../leader-answer/http.ts';
import { once, viaOf } from '../leader-answer/via.ts';
import type { AskPod } from '../port-forward/pod-port.ts';
import { askedReport } from './ask-leaders.ts';
import { auditProgram, type AuditValues, isAsked, kindsOf, refusedOf } from './audit-flags.ts';
import { csiDriverNotKnown, readCluster } from './cluster-list.ts';
import { compare, type Compared, nothingSeen, type Seen } from './compare.ts';
import { type DriverLists, type DriverSource, driverSource } from './driver-list.ts';
import { documentOf, parseDocument } from './list-document.ts';
import { auditDocument, auditText, exitOf, failedAudit, type Report } from './report.ts';

export interface AuditProgramDeps extends ProgramDeps {
  /** Asks an endpoint on this machine. Default: by HTTP. */
  readonly ask?: AskHttp;
  /** Asks a port of a pod. Default: by a port-forward through the API server. */
  readonly askPod?: AskPod;
}

/** Resolves with the exit code. */
export function runAudit(deps: AuditProgramDeps): Promise<number> {
  return runCommand(deps, {
    program: auditProgram,
    failure: failedAudit,
    run: (started) => run(deps, started),
  });
}

async function run(
  deps: AuditProgramDeps,
  { values, positionals, log, stderr }: Started<AuditValues, never>,
): Promise<number> {
  const { host, lifecycle } = deps;
  const refused = refusedOf(values, positionals);
  if (refused !== undefined) throw new CommandError(exits.usage, refused);
  const open = (): Promise<Cluster> =>
    openCluster({ host, signal: lifecycle.signal, log }, values, 'csi-sidecars-audit');
  const print = async (report: Report): Promise<number> => {
    const code = exitCodeOf(exitOf(report), values['exit-zero']);
    host.stdout(
      values.output === 'text'
        ? auditText(report)
        : await formatted(auditDocument(report, code), values.output === 'yaml' ? 'yaml' : 'json'),
    );
    return code;
  };
  if (isAsked(values)) {
    await using cluster = await open();
    return await print(await askLeaders(deps, { values, cluster }, (line) => stderr.write(`${line}\n`)));
  }
  // An unusable kubeconfig is reported before the driver is waited for.
  if (!values.dump) await (await open())[Symbol.asyncDispose]();
  await using source = await openSource(deps, values, log);
  if (values.driver !== '' && source.name !== values.driver) {
    throw new CommandError(exits.failed, `the driver is ${source.name}, and not ${values.driver}`);
  }
  if (values.dump) return await dump(deps, source, values);
  const passes = source.lists.length + values.confirm;
  let earlier = nothingSeen;
  let report: Report | undefined;
  for (let pass = 1; pass <= passes; pass += 1) {
    // Of a difference that was not there, a further list says nothing.
    if (pass > source.lists.length && report?.findings.every(({ level }) => level !== 'mayBeWork') === true) break;
    if (pass > source.lists.length) {
      stderr.write(`waiting ${values.grace / 1_000}s for list ${pass} of ${passes}\n`);
      await host.clock.sleep(values.grace, lifecycle.signal);
    }
    await using cluster = await open();
    const next = source.lists[pass - 1] ?? source.again;
    const done: Pass = await onePass({ cluster, source, list: next }, values, earlier);
    earlier = done.seen;
    report = { ...done.report, lists: pass };
  }
  if (report === undefined) throw new Error('nothing was compared');
  return await print(report);
}

function askLeaders(
  { host, lifecycle, ask, askPod }: AuditProgramDeps,
  { values, cluster }: { readonly values: AuditValues; readonly cluster: Cluster },
  write: (line: string) => void,
): Promise<Report> {
  const { clock } = host;
  const note = once(write);
  const ports = { clock, signal: lifecycle.signal, note };
  const via = viaOf(ports, values, { ask, askPod: askPod ?? cluster.askPod });
  if (via === undefined) throw new Error('no leader is named');
  const kinds = kindsOf(values) ?? new Set();
  const asked = { driver: values.driver, driverNamespace: values['driver-namespace'], kinds };
  return askedReport({ via, clock, cluster, note }, asked);
}

type List = (cluster: Cluster) => Promise<DriverLists>;

interface Source extends AsyncDisposable, Pick<DriverSource, 'name' | 'askVolume' | 'askSnapshot'> {
  /** The lists that are compared one after another without a pause. */
  readonly lists: readonly List[];
  /** A further list. */
  readonly again: List;
  readonly dumped: () => Promise<DriverLists>;
}

async function openSource(deps: ProgramDeps, values: AuditValues, log: Logger): Promise<Source> {
  return values['driver-list'] === '' ? await liveSource(deps, values, log) : await fileSource(deps, values);
}

async function liveSource({ host, lifecycle }: ProgramDeps, values: AuditValues, log: Logger): Promise<Source> {
  const { clock } = host;
  const connect = host.connectCsi ?? connectCsi;
  const timeoutMs = values['request-timeout'];
  const options = { address: values['driver-address'], connectTimeoutMs: timeoutMs, signal: lifecycle.signal };
  const channel = await orFailed('the driver cannot be reached', () => connect({ clock, log }, options));
  try {
    const kinds = kindsOf(values) ?? new Set();
    const { signal } = lifecycle;
    const driver = await orFailed('the driver does not say what it can', () =>
      driverSource(channel, { kinds, pageSize: values['page-size'], timeoutMs }, signal),
    );
    const { name, askVolume, askSnapshot } = driver;
    const listed = (nowMs: () => number, stop: AbortSignal): Promise<DriverLists> =>
      orFailed('the driver refused the list', () => driver.lists({ nowMs, signal: stop }));
    const list: List = (cluster) => listed(cluster.nowMs, cluster.signal);
    return {
      name,
      askVolume,
      askSnapshot,
      lists: [list],
      again: list,
      dumped: () => listed(() => clock.nowMs(), signal),
      [Symbol.asyncDispose]: async () => channel.close(),
    };
  } catch (error) {
    channel.close();
    throw error;
  }
}

async function fileSource({ host }: ProgramDeps, values: AuditValues): Promise<Source> {
  const documents: DriverLists[] = [];
  for (const path of values['driver-list'].split(',')) {
    const content = await orFailed('--driver-list', () => host.files.read(path));
    documents.push(await orFailed(`--driver-list ${path}`, async () => parseDocument(Buffer.from(content).toString())));
  }
  const [first, second] = documents;
  if (first === undefined) throw new Error('there is no list');
  if (second !== undefined && second.driver !== first.driver) {
    throw new CommandError(exits.failed, `the lists are of two drivers: ${first.driver} and ${second.driver}`);
  }
  if (second !== undefined && second.startedMs < first.startedMs + values.grace) {
    throw new CommandError(exits.failed, 'the later list was begun less than --grace after the earlier one');
  }
  return {
    name: first.driver,
    askVolume: undefined,
    askSnapshot: undefined,
    lists: documents.map((document) => async () => document),
    again: async () => first,
    dumped: async () => first,
    [Symbol.asyncDispose]: async () => undefined,
  };
}

async function dump({ host }: ProgramDeps, source: Source, values: AuditValues): Promise<number> {
  const lists = await source.dumped();
  host.stdout(await formatted(documentOf(lists), values.output === 'yaml' ? 'yaml' : 'json'));
  const isWhole = [lists.volumes, lists.snapshots].every(
    (half) => half.kind === 'notRun' || half.incomplete === undefined,
  );
  return exitCodeOf(isWhole ? exits.nothing : exits.unknown, values['exit-zero']);
}

interface Pass {
  readonly report: Omit<Report, 'lists'>;
  readonly seen: Seen;
}

interface PassPorts {
  readonly cluster: Cluster;
  readonly source: Source;
  readonly list: List;
}

async function onePass({ cluster, source, list }: PassPorts, values: AuditValues, earlier: Seen): Promise<Pass> {
  const { reader } = cluster;
  const { driver } = values;
  // With its answer the time of the server is known, by which the list is compared.
  const asked = await reader.get(csiDrivers, { name: driver }, csiDriverNotKnown);
  if (asked.kind === 'unknown' && (asked.because === 'failed' || asked.because === 'timeout')) {
    throw new CommandError(exits.failed, 'the API server cannot be reached');
  }
  const lists = await list(cluster);
  const recorded = await readCluster(reader, { driver, node: values.node });
  const kinds = kindsOf(values) ?? new Set();
  const compared: Compared = await compare(
    { reader, source },
    { lists, cluster: recorded },
    {
      kinds,
      graceMs: values.grace,
      handlePrefix: values['volume-id-prefix'],
      earlier,
      calls: values.calls,
      signal: cluster.signal,
    },
  );
  const { seen, ...rest } = compared;
  const report = {
    ...rest,
    driver,
    kinds,
    atMs: cluster.nowMs(),
    isKnown: recorded.isKnown,
    missing: reader.missing(),
    cost: cluster.cost(),
  };
  return { report, seen };
}

async function orFailed<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new CommandError(exits.failed, `${what}: ${toError(error).message}`, { cause: error });
  }
}
