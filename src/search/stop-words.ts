/**
 * Words of questions and sentences, folded, that say nothing about a file: of English, German, French, Spanish, Italian and Portuguese.
 * Words that mean something in one of the others are left out.
 */
export const STOP_WORDS: ReadonlySet<string> = new Set(
  `a about after all also am an and any are as at be been before but by can could did do does doing for from had has have having he her
  his how i if in into is it its just me my of on or our she should so some such than that the their them then there these they this
  those to us was we were what when where which who whom whose why will with would you your
  aber als auch auf aus bei bin bis da das dass dem den denn der des die dies diese doch du ein eine einem einen einer eines er es fur
  habe haben hat hatte ich ihr im ist ja kann mein meine mit nach nicht noch nur oder sein seine sich sie sind uber um und uns unser
  unsere vom von vor wann warum was weil welche welcher welches wenn wer wie wir wird wo zu zum zur
  au aux avec ce ces cette comment dans de des donc du elle en est et il je la le les leur leurs lui ma mais mes mon nos notre nous ont
  ou par pas pour qu quand que quel quelle quelles quels qui sa sans ses si son sont sur ta te tu un une vos votre vous
  al como con cual cuales cuando cuanto de del donde el ella ellos en es esta este esto ha hay la las lo los mi mis muy no nos nuestra
  nuestro para pero por porque que quien se ser si sin sobre son su sus tiene una uno y ya
  alla che chi ci come cosa dal dalla dei del della delle di dove e ed gli hanno i il io le lo ma mia mio ne nel nella non nostra nostro
  per perche piu qual quale quali quando quanto questa questo sei sono sua suo sul sulla tra tuo un
  ao as com da das do dos e ela ele em essa esse eu foi isso ja mais meu minha na nao nas no nos nosso o onde os ou para pela pelo por
  qual quais quando quem sao sem seu sua tem um uma voce`
    .split(/\s+/)
    .filter((word) => word !== ''),
);
