// SPDX-License-Identifier: Apache-2.0
/**
 * `csi-sidecars doctor`: looks for what is wrong with the drivers of a cluster and what runs beside them. `doctor node` prints what a person can
 * look at on a node. Neither changes anything.
 */
import { toError } from '@csi-sidecars/runtime';
import { nearest, type Started } from '@csi-sidecars/sidecar';
import { CredentialsError } from '../cluster/reader.ts';
import { CommandError, exitCodeOf, exits } from '../command/exit-codes.ts';
import { forScreen } from '../command/printable.ts';
import { openCluster } from '../command/open-cluster.ts';
import type { ExplainDeps } from '../command/program.ts';
import { formatted, isColoured, runCommand } from '../command/run-command.ts';
import { once, viaOf } from '../leader-answer/via.ts';
import { failureDocument } from '../report/document.ts';
import { linesOf, withoutAccepted } from './accepted.ts';
import type { Check } from './check.ts';
import { allChecks } from './checks/all.ts';
import { type Diagnosis, diagnosisOf, exitOf, screenOf, warningsOf } from './diagnosis.ts';
import { examine } from './examine.ts';
import { chosenOf, doctorProgram, type DoctorValues, refusedOf, refusedWords } from './flags.ts';
import { nodeCommandsOf, nodeScreenOf } from './on-node.ts';
import { knownDrivers } from './readings/drivers.ts';
import { gathering, sources } from './readings/readings.ts';
import { type Gathering, isRead } from './readings/source.ts';

/** Resolves with the exit code. */
export function runDoctor(deps: ExplainDeps): Promise<number> {
  return runCommand(deps, {
    program: doctorProgram,
    failure: (message, code) => failureDocument(message, code, 'Diagnosis'),
    run: (started) => run(deps, started),
  });
}

async function run(deps: ExplainDeps, started: Started<DoctorValues, never>): Promise<number> {
  const { host, lifecycle } = deps;
  const { values, positionals, log, stderr } = started;
  const refused = refusedOf(values, allChecks) ?? refusedWords(positionals, values);
  if (refused !== undefined) throw new CommandError(exits.usage, refused);
  const checks = chosenOf(values, allChecks);
  if (values.list) {
    host.stdout(listOf(checks));
    return exits.nothing;
  }
  const lines = values.accept === '' ? [] : linesOf(await textOf(deps, values.accept));
  await using cluster = await openCluster({ host, signal: lifecycle.signal, log }, values, 'csi-sidecars-doctor');
  const scope = { driver: values.driver === '' ? undefined : values.driver, namespace: values.namespace };
  const note = once((line) => stderr.write(`${forScreen(line)}\n`));
  const ports = { clock: host.clock, signal: lifecycle.signal, note };
  const asking = { ask: deps.ask, askPod: deps.askPod ?? cluster.askPod };
  const via = viaOf(ports, { via: '', 'via-pod': values['via-pod'] }, asking);
  const gathered = gathering(cluster.reader, scope, via);
  await orUnreachable(gathered);
  const surroundings = { nowMs: cluster.nowMs(), node: values.node === '' ? undefined : values.node };
  if (positionals.length > 0) {
    const commands = await orRefused(() => nodeCommandsOf(gathered, values.node));
    const { output } = values;
    host.stdout(output === 'json' || output === 'yaml' ? await formatted(commands, output) : nodeScreenOf(commands));
    return commands.exitCode;
  }
  const examined = await orRefused(() => examine(gathered, checks, surroundings));
  const accepted = withoutAccepted(examined.findings, lines, new Set(allChecks.map(({ id }) => id)));
  for (const warning of warningsOf(accepted)) stderr.write(`warning: ${forScreen(warning)}\n`);
  const exitCode = exitCodeOf(exitOf(accepted.findings, examined), values['exit-zero']);
  const diagnosis = diagnosisOf({
    atMs: cluster.nowMs(),
    localOffsetMs: cluster.localOffsetMs(),
    version: await cluster.reader.version(),
    examined,
    accepted,
    cost: cluster.cost(),
    exitCode,
  });
  host.stdout(await outputOf(diagnosis, values.output, deps));
  await stderr.flush();
  return exitCode;
}

/** Rejects with a CommandError if the cluster, or the driver in it, is not there. */
async function orUnreachable(gathered: Gathering): Promise<void> {
  const objects = await orRefused(() => gathered.get('csiDrivers'));
  const because = isRead(objects) ? undefined : objects.missing[0]?.because;
  if (because === 'timeout') throw new CommandError(exits.failed, 'the API server has not answered in time');
  if (because === 'failed') throw new CommandError(exits.failed, 'the API server cannot be reached');
  const { driver } = gathered.scope;
  if (driver === undefined) return;
  const [registrations, classes] = [await gathered.get('registrations'), await gathered.get('classes')];
  const known = await knownDrivers(gathered);
  const isNamed = !isRead(classes) || classes.value.some(({ provisioner }) => provisioner === driver);
  if (known.includes(driver) || isNamed || !isRead(objects) || !isRead(registrations)) return;
  const leading = await gathered.get('leading');
  if (!isRead(leading) || leading.value.some((each) => each.driver === driver && each.leases.length > 0)) return;
  const meant = nearest(driver, known);
  throw new CommandError(
    exits.absent,
    `there is no driver ${driver}${meant === undefined ? '' : `; there is ${meant}`}`,
  );
}

async function orRefused<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof CredentialsError) throw new CommandError(exits.failed, error.message, { cause: error });
    throw error;
  }
}

async function textOf({ host }: ExplainDeps, path: string): Promise<string> {
  try {
    return Buffer.from(await host.files.read(path)).toString();
  } catch (error) {
    throw new CommandError(exits.usage, `--accept: ${toError(error).message}`, { cause: error });
  }
}

/** `--list`: one line for each check. */
function listOf(checks: readonly Check[]): string {
  const lines = checks.map(({ id, severity, reads, wrong }) => {
    const rights = [...new Set(reads.flatMap((name) => sources[name].rights))];
    return `${id.padEnd(10)}${severity.padEnd(7)}${wrong}\n${' '.repeat(17)}reads: ${rights.length === 0 ? 'nothing' : rights.join(', ')}\n`;
  });
  return lines.join('');
}

async function outputOf(diagnosis: Diagnosis, output: string, { terminal, host }: ExplainDeps): Promise<string> {
  if (output === 'json' || output === 'yaml') return await formatted(diagnosis, output);
  return screenOf(diagnosis, { columns: terminal.columns ?? 80, isColoured: isColoured(terminal.columns, host.env) });
}
