// SPDX-License-Identifier: Apache-2.0
/** Every scenario, in the order in which they are listed. */
import { basics as attaching } from './attacher/basics.ts';
import { failures as failingToAttach } from './attacher/failures.ts';
import { load as attachingMany } from './attacher/load.ts';
import { moves } from './attacher/moves.ts';
import { apiServer } from './availability/api-server.ts';
import { clientGo } from './availability/client-go.ts';
import { clocks } from './availability/clocks.ts';
import { credentials } from './availability/credentials.ts';
import { elections } from './availability/elections.ts';
import { endurance } from './availability/endurance.ts';
import { leaders } from './availability/leaders.ts';
import { attachmentChaos } from './chaos/attachments.ts';
import { chaos } from './chaos/chaos.ts';
import { mixedImplementations } from './chaos/mixed-implementations.ts';
import { snapshotMixedImplementations } from './chaos/snapshot-mixed-implementations.ts';
import { snapshotChaos } from './chaos/snapshots.ts';
import { sourceChaos } from './chaos/sources.ts';
import { combined } from './combined/combined.ts';
import { combinedRollOut } from './combined/roll-out.ts';
import { gcpLife } from './gcp/life.ts';
import { gcpTrouble } from './gcp/trouble.ts';
import { health } from './health/health.ts';
import { disturbances } from './node/disturbances.ts';
import { explainedNode } from './node/explained.ts';
import { nodeGrowth } from './node/growth.ts';
import { leaderAnswer } from './node/leader-answer.ts';
import { probes } from './node/probes.ts';
import { registration } from './node/registration.ts';
import { rollOut } from './node/roll-out.ts';
import { nodeSources } from './node/sources.ts';
import { nodeSnapshots } from './node/snapshots.ts';
import { nodeVolumes } from './node/volumes.ts';
import { chartRights } from './packaging/chart-rights.ts';
import { confined } from './packaging/confined.ts';
import { examples } from './packaging/examples.ts';
import { images } from './packaging/images.ts';
import { releases } from './packaging/releases.ts';
import { stockSnapshotController } from './packaging/snapshot-controller.ts';
import { explainAttachments } from './explanations/attachments.ts';
import { explainClaims } from './explanations/claims.ts';
import { explainEndings } from './explanations/endings.ts';
import { explainRights } from './explanations/rights.ts';
import { explainSnapshots } from './explanations/snapshots.ts';
import { observability } from './observability/observability.ts';
import { basics } from './provisioner/basics.ts';
import { capacity } from './provisioner/capacity.ts';
import { data } from './provisioner/data.ts';
import { dataSources } from './provisioner/data-sources.ts';
import { failures } from './provisioner/failures.ts';
import { leftovers } from './provisioner/leftovers.ts';
import { load } from './provisioner/load.ts';
import { migration } from './provisioner/migration.ts';
import { nodeCapacity } from './provisioner/node-capacity.ts';
import { nodeDeployment } from './provisioner/node-deployment.ts';
import { populator } from './provisioner/populator.ts';
import { requests } from './provisioner/requests.ts';
import { sources } from './provisioner/sources.ts';
import { topology } from './provisioner/topology.ts';
import { uses } from './provisioner/uses.ts';
import { expanding } from './resizer/expanding.ts';
import { load as resizingMany } from './resizer/load.ts';
import { modifying } from './resizer/modifying.ts';
import { nodeExpansion } from './resizer/node-expansion.ts';
import { scale } from './scale/scale.ts';
import { hostility } from './security/hostile.ts';
import { inCluster } from './security/in-cluster.ts';
import { lookingAtRights } from './security/look-at-rights.ts';
import { missingRights } from './security/rights.ts';
import { secrecy } from './security/secrets.ts';
import { tokens } from './security/tokens.ts';
import { snapshotBasics } from './snapshots/basics.ts';
import { conversion } from './snapshots/conversion.ts';
import { snapshotDefinitionScenarios } from './snapshots/definitions.ts';
import { distributedSnapshots } from './snapshots/distributed.ts';
import { snapshotsDisturbed } from './snapshots/disturbed.ts';
import { groupSnapshots } from './snapshots/groups.ts';
import { snapshotLoad } from './snapshots/load.ts';
import { snapshotMetadata } from './snapshots/metadata.ts';
import { snapshotPlaces } from './snapshots/places.ts';
import { restoring } from './snapshots/restoring.ts';
import type { Scenario } from './scenario.ts';

export const allScenarios: readonly Scenario[] = [
  ...basics,
  ...attaching,
  ...failingToAttach,
  ...moves,
  ...attachingMany,
  ...expanding,
  ...resizingMany,
  ...nodeExpansion,
  ...modifying,
  ...health,
  ...snapshotBasics,
  ...snapshotsDisturbed,
  ...groupSnapshots,
  ...restoring,
  ...snapshotLoad,
  ...snapshotMetadata,
  ...distributedSnapshots,
  ...snapshotDefinitionScenarios,
  ...snapshotPlaces,
  ...conversion,
  ...data,
  ...sources,
  ...topology,
  ...capacity,
  ...nodeCapacity,
  ...migration,
  ...nodeDeployment,
  ...failures,
  ...dataSources,
  ...populator,
  ...requests,
  ...uses,
  ...leftovers,
  ...load,
  ...leaders,
  ...clientGo,
  ...apiServer,
  ...endurance,
  ...clocks,
  ...credentials,
  ...elections,
  ...secrecy,
  ...missingRights,
  ...lookingAtRights,
  ...hostility,
  ...observability,
  ...explainClaims,
  ...explainAttachments,
  ...explainEndings,
  ...explainRights,
  ...explainSnapshots,
  ...scale,
  ...chaos,
  ...attachmentChaos,
  ...snapshotChaos,
  ...sourceChaos,
  ...mixedImplementations,
  ...snapshotMixedImplementations,
  ...combined,
  ...combinedRollOut,
  ...gcpLife,
  ...gcpTrouble,
  ...inCluster,
  ...chartRights,
  ...confined,
  ...examples,
  ...images,
  ...releases,
  ...stockSnapshotController,
  ...nodeVolumes,
  ...nodeSources,
  ...nodeGrowth,
  ...leaderAnswer,
  ...explainedNode,
  ...nodeSnapshots,
  ...registration,
  ...probes,
  ...rollOut,
  ...tokens,
  ...disturbances,
].sort(byId);

function byId(a: Scenario, b: Scenario): number {
  return a.id < b.id ? -1 : 1;
}
