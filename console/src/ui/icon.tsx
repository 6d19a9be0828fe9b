import * as lucide from 'lucide';
import { h } from 'preact';

const ICONS = {
  audit: lucide.ScrollText,
  back: lucide.ChevronLeft,
  chevron: lucide.ChevronRight,
  check: lucide.Check,
  clock: lucide.Clock,
  close: lucide.X,
  comment: lucide.MessageSquare,
  compare: lucide.ArrowLeftRight,
  copy: lucide.Copy,
  directory: lucide.Folder,
  down: lucide.ChevronDown,
  download: lucide.Download,
  draft: lucide.GitPullRequest,
  edit: lucide.Pencil,
  file: lucide.File,
  incident: lucide.Siren,
  key: lucide.KeyRound,
  menu: lucide.Menu,
  minus: lucide.Minus,
  more: lucide.Ellipsis,
  move: lucide.FolderInput,
  overview: lucide.LayoutDashboard,
  plus: lucide.Plus,
  restore: lucide.RotateCcw,
  search: lucide.Search,
  settings: lucide.SlidersHorizontal,
  'sign-out': lucide.LogOut,
  tenants: lucide.Layers,
  terminal: lucide.SquareTerminal,
  trash: lucide.Trash2,
  up: lucide.ChevronUp,
  upload: lucide.Upload,
  warning: lucide.TriangleAlert,
  webhook: lucide.Webhook,
} as const satisfies Record<string, lucide.IconNode>;

export type IconName = keyof typeof ICONS;

/** A decorative icon. The text beside it must give the same information. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      {ICONS[name].map(([tag, attributes], index) => h(tag, { key: index, ...attributes }))}
    </svg>
  );
}
