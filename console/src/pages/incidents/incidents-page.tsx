import './incident.css';
import { useLayoutEffect } from 'preact/hooks';
import { canWrite, onlyTenants } from '../../api/session-state.ts';
import { replacePlace, route, toHref } from '../../router.ts';
import { FindForm } from './find-form.tsx';
import { JobList } from './job-list.tsx';
import { JobPage } from './job-page.tsx';
import { KeptOutSection } from './kept-out-section.tsx';
import { newForm } from './state.ts';

/** The page for incidents: find a text or an actor in many tenants, and undo, erase, or keep out. */
export function IncidentsPage() {
  const [, job] = route.value.segments;
  usePrefilled();
  if (job !== undefined) return <JobPage key={job} id={job} />;
  return (
    <>
      <div class="page-head">
        <h1>Incident</h1>
      </div>
      {canWrite.value ? (
        <FindForm />
      ) : (
        <p class="muted">Your key can read the results of jobs, and start none.</p>
      )}
      <h2 class="jobs-title">Jobs</h2>
      <JobList />
      {onlyTenants.value === null && (
        <section class="card kept-out-section">
          <KeptOutSection tenant={null} />
        </section>
      )}
    </>
  );
}

/** Fills the form with the actor from a link, and removes the actor from the URL. */
function usePrefilled(): void {
  const { segments, query } = route.value;
  const [by, source, since] = ['by', 'source', 'since'].map((name) => query.get(name) ?? '');
  useLayoutEffect(() => {
    if (!by && !source) return;
    newForm({ actorKind: source ? 'source' : 'by', actor: by || source || '', since: since ?? '' });
    replacePlace(toHref(segments));
  }, [by, source, since]);
}
