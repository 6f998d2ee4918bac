// SPDX-License-Identifier: Apache-2.0
/** csi-provisioner as a dry run: its own loops, with one key. What it assumes is described in docs/behaviour/dry-run.md. */
import {
  assumedOf,
  type DryDriverQuestion,
  dryRunProgram,
  type DryRunResult,
  type DryWorld,
} from '@csi-sidecars/sidecar';
import { provisionerProgram } from './flags.ts';
import { featuresOf } from './program.ts';
import { provisionerLoops } from './provisioner.ts';
import { type NodeFacts, nodeNameOf, toNodeDeployment, toSettings } from './read-settings.ts';

/** Keys: the UID of a claim, the name of a PersistentVolume. They are the names of the queues. */
export type ProvisionerDryLoop = 'claims' | 'volumes';

export interface ProvisionerDryQuestion extends DryDriverQuestion<ProvisionerDryLoop> {
  /** The node of the instance with `--node-deployment`, by Kubernetes' name, and what the driver says of it. Undefined: not known. */
  readonly node?: Pick<NodeFacts, 'name' | 'id' | 'segments'> | undefined;
}

export function dryRun(world: DryWorld, question: ProvisionerDryQuestion): Promise<DryRunResult> {
  const { driver, loop, node } = question;
  return dryRunProgram(world, question, {
    program: provisionerProgram,
    assemble: async (parts) => {
      const { started } = parts;
      const { values } = started;
      const nodeName = nodeNameOf(values, { NODE_NAME: node?.name });
      const isKnown = nodeName.kind === 'ok' && nodeName.value !== undefined && node !== undefined;
      const settings = toSettings(values, {
        // What is swept is neither a claim nor a volume, and the cluster need not be asked about it.
        features: await featuresOf(parts, 'off'),
        identity: 'dry-run',
        node: isKnown ? toNodeDeployment(values, { ...node, random: world.random.next() }) : undefined,
      });
      return {
        queue: loop,
        loops: (ports) => provisionerLoops(ports, { driver, settings }).provisioning,
        assumed: [...assumedOf(driver), ...(nodeName.kind === 'ok' ? [] : ['one instance works for all nodes'])],
      };
    },
  });
}
